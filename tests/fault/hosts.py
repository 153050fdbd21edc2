# SPDX-License-Identifier: Apache-2.0
"""Hosts that share a store on something like a network file system (nfslike.c)."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))
sys.path.insert(0, HERE)

import harness  # noqa: E402

SERVED = "served"  # below the root of a test: what the server has


def tool(name):
    """The path of a tool that is built from tests/fault."""
    return os.path.join(os.path.dirname(harness.binary()), "tests", "fault", name)


class Import(harness.Mount):
    """What the server has, as one host sees it."""

    def command(self):
        return [tool("nfslike"), self.store, self.path, *self.options]


class Host:
    """A host with the server's directory, and a mount of the store in it."""

    def __init__(self, root, name, switches=(), options=(), environment=None):
        self.imported = Import(os.path.join(root, SERVED),
                               os.path.join(root, f"{name}-nfs"), switches)
        self.store = os.path.join(self.imported.path, "store")
        self.mount = harness.Mount(self.store, os.path.join(root, name), options,
                                   environment=environment)
        self.path = self.mount.path

    def start(self):
        self.imported.start()
        self.mount.start()
        return self

    def stop(self):
        self.mount.stop()
        self.imported.stop()

    def discard(self):
        self.mount.discard()
        self.imported.discard()

    def tacfs(self, command, *arguments):
        """Runs the command with this host's store; `arguments` are options first."""
        options = [text for text in arguments if text.startswith("-")]
        return harness.tacfs(command, *options, self.store,
                             *arguments[len(options):])


def preload(**variables):
    """The environment of a program that sees another system: see skew.c."""
    shown = subprocess.run(["ldd", harness.binary()], capture_output=True, text=True,
                           check=True).stdout
    first = [line.split()[2] for line in shown.splitlines()
             if "libasan" in line or "libtsan" in line]
    library = os.path.join(os.path.dirname(tool("nfslike")), "libskew.so")
    return {"LD_PRELOAD": ":".join([*first, library]),
            **{name: str(value) for name, value in variables.items()}}
