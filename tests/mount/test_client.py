# SPDX-License-Identifier: Apache-2.0
"""An unmodified client saves, loads, reads and clears its caches on the mount."""
import fcntl
import glob
import json
import os
import shutil
import subprocess
import sys
import time

import calls
import harness
import samples
import torchair_client as client
from harness import mount_only
from test_readable import interpreters

SCRIPT = os.path.join(harness.HERE, "torchair_client.py")


class ClientTest(harness.MountTest):
    mounts = 2

    def setUp(self):
        super().setUp()
        self.file = client.cache_bin(self.dir)

    def run_script(self, *arguments, python=sys.executable):
        """The outcomes that one run of the client prints."""
        (status, output), = harness.run_parallel([[python, SCRIPT, *arguments]])
        self.assertEqual(status, 0, f"expected the client to succeed, seen {status}: "
                         f"{output}")
        return [line.split()[0] for line in output.splitlines()]

    def assertOutcomes(self, seen, expected):
        self.assertEqual(seen, expected, f"expected {expected}, seen {seen}")


class OneClient(ClientTest):
    def test_miss_then_hits(self):
        self.assertOutcomes(self.run_script(self.dir), ["miss", "miss"])
        self.assertOutcomes(self.run_script("--rounds", "2", self.dir), ["hit"] * 4)
        self.assertOutcomes(self.run_script(self.other_dir), ["hit", "hit"])
        self.mount.restart()
        self.assertOutcomes(self.run_script(self.dir), ["hit", "hit"])

    def test_large_models(self):
        """Bodies larger than the client's buffer are written through."""
        for size in (100, 70000, 140000, 2000000):
            directory = self.path(str(size))
            arguments = ("--size", str(size), directory)
            self.assertOutcomes(self.run_script(*arguments), ["miss", "miss"])
            self.assertOutcomes(self.run_script(*arguments), ["hit", "hit"])

    def test_other_pythons(self):
        for number, python in enumerate(interpreters()):
            with self.subTest(python=python):
                directory = self.path(f"python{number}")
                self.assertOutcomes(self.run_script(directory, python=python),
                                    ["miss", "miss"])
                self.assertOutcomes(self.run_script(directory, python=python),
                                    ["hit", "hit"])

    def test_other_version_clears_and_compiles_again(self):
        for number in range(3):
            version = f"0.0.{number}"
            _, outcome = client.cache_compile(self.file, version=version)
            self.assertOutcomes(outcome, "repaired" if number else "miss")
        self.assertOutcomes(client.cache_compile(self.file)[1], "hit")

    def test_wrong_mode_clears_and_compiles_again(self):
        client.cache_compile(self.file)
        os.chmod(self.file, 0o644)
        self.assertOutcomes(client.cache_compile(self.file)[1], "repaired")
        self.assertOutcomes(client.cache_compile(self.file)[1], "hit")

    def test_foreign_content_clears_and_compiles_again(self):
        calls.save(self.file, samples.foreign(1))
        self.assertOutcomes(client.cache_compile(self.file)[1], "repaired")
        self.assertOutcomes(client.cache_compile(self.file)[1], "hit")

    @mount_only
    def test_saved_by_a_client_that_was_killed(self):
        """The next client finds nothing, and has nothing to clear."""
        writer = self.agent()
        os.makedirs(os.path.dirname(self.file))
        writer.calls.begin(self.file, samples.half(samples.module(1)))
        writer.kill()
        self.assertOutcomes(client.cache_compile(self.file)[1], "miss")

    def test_what_was_saved_is_what_is_loaded(self):
        for size in (100, 16384, 300000):
            artifact = client.compile_model(size)
            client.save(self.file, artifact)
            for path in (self.file, client.cache_bin(self.other_dir)):
                self.assertEqual(client.load(path), artifact, "expected the model "
                                 "that was saved")

    @mount_only
    def test_readable_cache_agrees_with_the_mount(self):
        """Under each CPython, what its own readable_cache writes."""
        for number, python in enumerate(interpreters() or [sys.executable]):
            with self.subTest(python=python):
                directory = self.path(f"python{number}")
                self.run_script(directory, python=python)
                self.compare_readable(python, client.cache_bin(directory))

    def compare_readable(self, python, path):
        written = self.path("readable.txt")
        script = ("import sys, torchair_client as client; "
                  "client.readable_cache(sys.argv[1], sys.argv[2])")
        (status, output), = harness.run_parallel(
            [[python, "-c", script, path, written]], cwd=harness.HERE)
        self.assertEqual(status, 0, f"expected success, seen {output}")
        seen = calls.read(os.path.join(os.path.dirname(path), "readable.py"))
        expected = calls.read(written)
        if seen != expected:
            self.fail(f"{python}: expected {samples.describe(expected)}, seen "
                      f"{samples.describe(seen)}")

    def test_readable_cache_into_the_leaf(self):
        client.cache_compile(self.file)
        leaf = os.path.dirname(self.file)
        text = client.readable_cache(self.file, os.path.join(leaf, "mine.py"))
        self.assertContent(os.path.join(leaf, "mine.py"), text.encode())
        self.assertEqual(client.readable_cache(self.file,
                                               os.path.join(leaf, "mine.py")), text,
                         "expected the same text over an existing file")


class GraphEngine(ClientTest):
    """CANN's graph engine beside TorchAir: lock, .om, .rdcpkt, .idx."""

    def compile(self, leaf, stamp, content):
        lock = os.open(os.path.join(leaf, "graph_1.lock"),
                       os.O_CREAT | os.O_WRONLY, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        name = f"graph_1_{stamp}"
        fd = os.open(os.path.join(leaf, name + ".om"),
                     os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        calls.write_fd(fd, content)
        os.close(fd)
        packet = os.path.join(leaf, name + ".rdcpkt")
        calls.write(packet, b"")
        calls.write(packet, b"variables" * 50)
        record = json.dumps({"cache_file_list": [
            {"graph_key": "graph_1", "cache_file_name": name + ".om",
             "var_desc_file_name": name + ".rdcpkt"}]}).encode()
        index = os.path.join(leaf, "graph_1.idx")
        calls.write(index, b"")
        self.assertEqual(calls.read_as_ge(index), b"", "expected the engine to see "
                         "its own empty index")
        calls.write(index, record)
        fcntl.flock(lock, fcntl.LOCK_UN)
        os.close(lock)

    def load(self, leaf):
        """The bytes of the model that the index names, as the engine loads it."""
        record = json.loads(calls.read_as_ge(os.path.join(leaf, "graph_1.idx")))
        name = record["cache_file_list"][0]["cache_file_name"]
        return calls.read_as_ge(os.path.join(leaf, name))

    def test_compile_load_and_compile_again(self):
        leaf = os.path.dirname(self.file)
        there = os.path.dirname(client.cache_bin(self.other_dir))
        for number, size in enumerate((5000, 400000, 3 * (1 << 20))):
            content = samples.om(number, size)
            client.cache_compile(self.file)
            self.compile(leaf, f"2026010100000{number}", content)
            for directory in (leaf, there):
                self.assertTrue(self.load(directory) == content,
                                f"{harness.short(directory)}: expected the model "
                                "that was compiled last")
            if number == 1:
                client.clear(self.file)

    def test_static_kernels(self):
        outputs = self.path("static_kernel_compile_outputs")
        kernels = os.path.join(outputs, "static_kernel_cache")
        os.makedirs(kernels)
        record = os.path.join(kernels, "CANN-8.0_Ascend910B.json")
        with open(record.replace(".json", ".lock"), "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with open(record.replace(".json", ".tmp"), "w") as file:
                json.dump({"kernel": kernels}, file)
            os.rename(record.replace(".json", ".tmp"), record)
            fcntl.flock(lock, fcntl.LOCK_UN)
        build = os.path.join(outputs, "ts20260101_pid1_outputs")
        os.makedirs(os.path.join(build, "tmp"))
        package = os.path.join(build, "tmp", "kernel.run")
        with open(package, "w") as file:
            file.write("#!/bin/sh\necho installed\n")
        os.chmod(package, 0o750)
        moved = shutil.move(package, os.path.join(build, "kernel.run"))
        shutil.copy2(moved, os.path.join(kernels, "kernel.run"))
        found = glob.glob(os.path.join(outputs, "**", "*.run"), recursive=True)
        self.assertEqual(len(found), 2, f"expected two packages, seen {found}")
        for path in found:
            done = subprocess.run([path], capture_output=True)
            self.assertEqual(done.stdout, b"installed\n", f"{path}: expected it to "
                             f"run, seen {done}")


class Ranks(ClientTest):
    SECONDS = harness.amount(1.5, 20)
    COUNT = harness.amount(3, 8)

    def directory_of(self, rank):
        """Ranks use both mounts."""
        return (self.dir, self.other_dir)[rank % 2]

    def begin_all(self, agents, *call):
        for agent in agents:
            agent.begin(*call)
        return [agent.end() for agent in agents]

    def test_ranks_with_leaves_of_their_own(self):
        commands = [[sys.executable, SCRIPT, "--ranks", "4", "--rank", str(rank),
                     self.directory_of(rank)] for rank in range(4)]
        for expected in ("miss", "hit"):
            for status, output in harness.run_parallel(commands):
                seen = [line.split()[0] for line in output.splitlines()]
                self.assertEqual((status, seen), (0, [expected] * 2),
                                 f"expected two times {expected}, seen {output}")

    @mount_only
    def test_ranks_that_share_a_leaf_from_nothing(self):
        commands = [[sys.executable, SCRIPT, "--rounds", "20",
                     self.directory_of(rank)] for rank in range(4)]
        for status, output in harness.run_parallel(commands):
            seen = [line.split()[0] for line in output.splitlines()]
            self.assertEqual(status, 0, f"expected success, seen {output}")
            self.assertNotIn("repaired", seen, f"expected nobody to meet a cache "
                             f"that cannot be loaded, seen {seen}")
            self.assertEqual(seen[4:], ["hit"] * 36, f"expected hits after the "
                             f"start, seen {seen}")
        self.assertEqual(client.load(self.file),
                         client.load(client.cache_bin(self.other_dir)),
                         "expected one and the same model in both mounts")

    @mount_only
    def test_loads_never_fail_while_another_saves(self):
        """In a plain directory nearly every load fails here."""
        client.save(self.file, client.compile_model(60000))
        writer, readers = self.agent(), self.agents(self.COUNT)
        stop = os.path.join(self.root, "stop")
        for rank, reader in enumerate(readers):
            reader.begin("ranks.load_often",
                         client.cache_bin(self.directory_of(rank)), stop)
        writer.begin("ranks.save_often", self.file, self.SECONDS, 60000, stop)
        saves = writer.end()
        results = [reader.end() for reader in readers]
        loads = sum(count for count, _ in results)
        failures = [failure for _, found in results for failure in found]
        print(f"\n  {saves} saves, {loads} loads")
        self.assertEqual(failures, [], f"expected no failed load of {loads}, seen "
                         f"{failures[:3]}")

    def test_cleaning_at_the_start_of_a_job(self):
        """Every rank clears the cache at once, waits for all, and compiles."""
        agents = self.agents(4)
        root = self.path("cache")
        for _ in range(harness.amount(4, 30)):
            self.begin_all(agents, "ranks.clean_at_start", root)
            for rank, agent in enumerate(agents):
                path = client.cache_bin(root, rank=rank, ranks=4)
                agent.begin("client.cache_compile", path)
            outcomes = [agent.end()[1] for agent in agents]
            self.assertNotIn("repaired", outcomes, f"expected misses or hits, seen "
                             f"{outcomes}")
            for rank, agent in enumerate(agents):
                path = client.cache_bin(root, rank=rank, ranks=4)
                agent.client.load(path)

    @mount_only
    def test_cleaning_while_others_compile_and_load(self):
        workers, cleaner = self.agents(self.COUNT), self.agent()
        for rank, worker in enumerate(workers):
            path = client.cache_bin(self.directory_of(rank))
            worker.begin("ranks.live_with_cleaning", path, self.SECONDS, 40000)
        time.sleep(0.05)
        cleaner.begin("ranks.clean_often", os.path.dirname(
            os.path.dirname(self.file)), self.SECONDS)
        cleaned, problems = cleaner.end()
        results = [worker.end() for worker in workers]
        print(f"\n  cleaned {cleaned} times; {[result[0] for result in results]}")
        problems += [problem for _, found in results for problem in found]
        self.assertEqual(problems, [], f"expected whole models or none, seen "
                         f"{problems[:3]}")
        client.cache_compile(self.file)
        self.assertOutcomes(client.cache_compile(self.file)[1], "hit")


if __name__ == "__main__":
    harness.main()
