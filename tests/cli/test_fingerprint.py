#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tacfs fingerprint`: a name for what a host has, made without importing it."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ASCEND = "usr/local/Ascend/ascend-toolkit/latest"
MACHINE = os.uname().machine
CFG = """# version: 1.0
runtime_running_version=[7.7.0.1.238:8.1.RC1]
toolkit_running_version=[7.7.0.1.238:8.1.RC1]
runtime_upgrade_version=[7.6.0.1.220:8.0.0]
"""
INSTALL = """package_name=Ascend-cann-toolkit
version=8.3.RC1
innerversion=V100R001C23SPC001B235
compatible_version=[V100R001C15],[V100R001C18]
path=/usr/local/Ascend/ascend-toolkit/8.3.RC1
"""


class Fingerprint(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = pathlib.Path(place.name).resolve()

    def put(self, path, text=""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def put_program(self, path):
        self.put(path).chmod(0o755)

    def link(self, path, target):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).symlink_to(target)

    def put_python(self, version="3.11", prefix="usr"):
        self.put_program(f"{prefix}/bin/python{version}")
        self.link(f"{prefix}/bin/python3", f"python{version}")

    def package(self, name, site="usr/local/lib/python3.11/dist-packages"):
        (self.root / site / name).mkdir(parents=True)

    def run_tacfs(self, *arguments, **environment):
        keep = {name: value for name, value in os.environ.items()
                if name.endswith("SAN_OPTIONS")}
        keep["PATH"] = "/usr/local/bin:/usr/bin:/bin"
        return subprocess.run([os.environ["TACFS_BIN"], "fingerprint", *arguments],
                              capture_output=True, timeout=60,
                              env={**keep, **environment})

    def name(self, **environment):
        done = self.run_tacfs("--root", self.root, **environment)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        name = done.stdout.decode()
        self.assertRegex(name, r"\A[A-Za-z0-9._+-]{1,255}\n\Z")
        return name.rstrip("\n")

    def parts(self, **environment):
        done = self.run_tacfs("--json", "--root", self.root, **environment)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        whole = json.loads(done.stdout)
        self.assertEqual(whole["namespace"], self.name(**environment))
        return {part["name"]: (part["version"], part["place"])
                for part in whole["parts"]}

    def test_bare_host_is_its_machine(self):
        self.assertEqual(self.name(), MACHINE)
        self.assertEqual(self.parts(), {"machine": (MACHINE, None)})

    def test_everything_in_one_name_and_its_places(self):
        self.put(f"{ASCEND}/version.cfg", CFG)
        self.put_python()
        for package in ("torch-2.6.0", "torch_npu-2.6.0", "torchair-1.0.5",
                        "npugraph_ex-1.2", "torchvision-0.21.0", "numpy-1.26"):
            self.package(f"{package}.dist-info")
        name = ("cann8.1.RC1-py3.11-torch2.6.0-torch_npu2.6.0-torchair1.0.5-"
                f"npugraph_ex1.2-{MACHINE}")
        self.assertEqual(self.name(), name)
        self.assertEqual(self.name(), name, "expected the same name again")
        site = f"{self.root}/usr/local/lib/python3.11/dist-packages"
        self.assertEqual(self.parts(), {
            "cann": ("8.1.RC1", f"{self.root}/{ASCEND}/version.cfg"),
            "python": ("3.11", f"{self.root}/usr/bin/python3"),
            "torch": ("2.6.0", f"{site}/torch-2.6.0.dist-info"),
            "torch_npu": ("2.6.0", f"{site}/torch_npu-2.6.0.dist-info"),
            "torchair": ("1.0.5", f"{site}/torchair-1.0.5.dist-info"),
            "npugraph_ex": ("1.2", f"{site}/npugraph_ex-1.2.dist-info"),
            "machine": (MACHINE, None)})

    def test_every_file_of_cann_will_do(self):
        for number, (file, text, version) in enumerate((
                ("version.cfg", CFG, "8.1.RC1"),
                ("version.cfg", "runtime_running_version=[1.84:6.0.1]", "6.0.1"),
                ("version.info", "version_dir=8.0.RC2\r\n", "8.0.RC2"),
                ("version.info", "Version=7.3.0.1.231\n", "7.3.0.1.231"),
                ("compiler/version.info",
                 "Version=7.7.0.1.238\nversion_dir=8.1.RC1\n", "8.1.RC1"),
                ("aarch64-linux/ascend_toolkit_install.info", INSTALL, "8.3.RC1"),
                ("x86_64-linux/ascend_toolkit_install.info", INSTALL, "8.3.RC1"))):
            with self.subTest(file=file, text=text):
                self.put(f"opt/cann{number}/{file}", text)
                self.assertEqual(self.name(ASCEND_HOME_PATH=f"/opt/cann{number}"),
                                 f"cann{version}-{MACHINE}")

    def test_environment_comes_before_the_usual_place(self):
        self.put(f"{ASCEND}/version.info", "version_dir=1\n")
        self.put("opt/home/version.info", "version_dir=2\n")
        self.put("opt/toolkit/version.info", "version_dir=3\n")
        self.assertEqual(self.parts()["cann"][0], "1")
        self.assertEqual(self.parts(ASCEND_TOOLKIT_HOME="/opt/toolkit")["cann"][0],
                         "3")
        self.assertEqual(self.parts(ASCEND_TOOLKIT_HOME="/opt/toolkit",
                                    ASCEND_HOME_PATH="/opt/home")["cann"][0], "2")
        self.assertEqual(self.parts(ASCEND_HOME_PATH="opt/home")["cann"][0], "1",
                         "expected a relative path to be passed over")

    def test_symlinks_stay_below_the_root(self):
        self.put("usr/local/Ascend/ascend-toolkit/8.2.RC1/version.info",
                 "version_dir=8.2.RC1\n")
        self.link(ASCEND, "/usr/local/Ascend/ascend-toolkit/8.2.RC1")
        self.put_program("opt/py/bin/python3.10")
        self.link("usr/bin/python3", "/opt/py/bin/python3.10")
        self.package("torch-2.1.0.dist-info", "opt/py/lib/python3.10/site-packages")
        self.assertEqual(self.name(),
                         f"cann8.2.RC1-py3.10-torch2.1.0-{MACHINE}")

    def test_first_python_of_the_path_and_its_packages(self):
        self.put_python("3.9")
        self.put_python("3.12", "opt/conda")
        self.package("torch-1.11.dist-info", "usr/lib/python3.9/site-packages")
        self.package("torch-2.5.dist-info", "opt/conda/lib/python3.12/site-packages")
        self.assertEqual(self.name(PATH="/opt/conda/bin:/usr/bin"),
                         f"py3.12-torch2.5-{MACHINE}")
        self.assertEqual(self.name(PATH="/usr/bin:/opt/conda/bin"),
                         f"py3.9-torch1.11-{MACHINE}")
        self.assertEqual(self.name(PATH="opt/conda/bin::/none"), MACHINE)

    def test_virtual_environment_hides_what_is_outside(self):
        self.put_python()
        self.package("torch-2.0.dist-info")
        self.package("torch_npu-2.0.dist-info")
        self.link("venv/bin/python3", "/usr/bin/python3.11")
        config = self.put("venv/pyvenv.cfg", "home = /usr/bin\n"
                          "include-system-site-packages = false\n")
        self.package("torch-2.6.dist-info", "venv/lib/python3.11/site-packages")
        self.package("torchair-7.dist-info",
                     "root/.local/lib/python3.11/site-packages")
        environment = {"PATH": "/venv/bin:/usr/bin", "HOME": "/root"}
        self.assertEqual(self.name(**environment), f"py3.11-torch2.6-{MACHINE}")
        config.write_text("include-system-site-packages = true\n")
        self.assertEqual(self.name(**environment), f"py3.11-torch2.6-"
                         f"torch_npu2.0-torchair7-{MACHINE}")

    def test_python_path_comes_first(self):
        self.put_python()
        self.package("torch-2.6.dist-info")
        self.package("torch-2.7.dist-info", "opt/mine")
        self.assertEqual(self.name(PYTHONPATH="relative:/none:/opt/mine"),
                         f"py3.11-torch2.7-{MACHINE}")

    def test_what_a_package_may_be_called(self):
        self.put_python()
        for entry, said in (("torch-2.1.0-py3.11.egg-info", "torch2.1.0"),
                            ("Torch-2.1.0+cpu.dist-info", "torch2.1.0+cpu"),
                            ("torch-2.10.dist-info", "torch2.10"),
                            ("torch-2.9.dist-info", "torch2.10"),
                            ("torch-2.11/../torch-2.11.dist-info", "torch2.11"),
                            ("torch-2.99", "torch2.11"),
                            ("torch.dist-info", "torch2.11"),
                            ("torch-.dist-info", "torch2.11")):
            with self.subTest(entry=entry):
                self.package(entry)
                self.assertEqual(self.name(), f"py3.11-{said}-{MACHINE}")

    def test_hostile_values_make_a_file_name_all_the_same(self):
        self.put_python()
        self.put(f"{ASCEND}/version.info", "version_dir=../../etc/\x1b[31mx y\n")
        self.package("torch-" + "9" * 200 + ".dist-info")
        self.assertEqual(self.name(), f"cann.._.._etc___31mx_y-py3.11-"
                         f"torch{'9' * 30}-{MACHINE}")
        self.put(f"{ASCEND}/version.info", "\0" * 100000 + "version_dir=1\n")
        self.assertNotIn("cann", self.name())
        os.unlink(self.root / ASCEND / "version.info")
        os.mkfifo(self.root / ASCEND / "version.info")
        self.assertNotIn("cann", self.name())

    def test_nothing_below_a_root_is_run(self):
        self.put("usr/bin/python3", f"#!/bin/sh\ntouch {self.root}/ran\n"
                 "echo 3.11; echo /usr/bin/python3\n").chmod(0o755)
        self.assertEqual(self.name(), MACHINE)
        self.assertFalse((self.root / "ran").exists())

    def test_python_without_a_version_in_its_name_is_asked(self):
        self.put("bin/python3", f"#!/bin/sh\necho 3.11\n"
                 f"echo {self.root}/real/bin/python3\n").chmod(0o755)
        self.put_program("real/bin/python3")
        self.package("torch-2.6.dist-info", "real/lib/python3.11/site-packages")
        done = self.run_tacfs(PATH=f"{self.root}/bin:/usr/bin:/bin")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(b"py3.11-torch2.6", done.stdout)

    def test_python_that_answers_nonsense_is_none(self):
        for answer in ("", "exit 1", "echo 3.11", "echo 3.x; echo /bin/sh",
                       "echo 3.11; echo sh", "echo 3.11; echo /none/python",
                       "yes", "kill -9 $$"):
            with self.subTest(answer=answer):
                self.put("bin/python3", f"#!/bin/sh\n{answer}\n").chmod(0o755)
                done = self.run_tacfs(PATH=f"{self.root}/bin:/usr/bin:/bin")
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertNotIn(b"py", done.stdout)

    def test_host_itself(self):
        done = self.run_tacfs(HOME="/none")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertRegex(done.stdout.decode(), rf"(\A|-){MACHINE}\n\Z")

    def test_command_line(self):
        self.assertEqual(self.run_tacfs("x").returncode, 64)
        self.assertEqual(self.run_tacfs("--root").returncode, 64)
        self.assertEqual(self.run_tacfs("--nonsense").returncode, 64)
        done = self.run_tacfs("--root", self.root / "none")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.decode(), "tacfs: fingerprint: "
                         f"{self.root}/none: No such file or directory\n")


if __name__ == "__main__":
    unittest.main()
