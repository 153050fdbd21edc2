# SPDX-License-Identifier: Apache-2.0
"""Runs a test file as somebody else, who may mount.

    TACFS_BIN=build/release/tacfs python3 tests/mount/enter.py user|userns|root FILE

    root    as root, with other users beside it who may mount
    user    as an ordinary user, through fusermount3
    userns  as root of a user namespace that an ordinary user made (unshare -Urm)

Each has a mount namespace of its own, where /dev/fuse is for everybody,
/etc/fuse.conf and /etc/passwd are ours, and the sources and the binary lie where
that user finds them: nothing of that is changed for the machine.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

USER = 4711  # has a name, as fusermount3 wants
FRIEND = 4712
STRANGER = 12345  # has none
LET_GO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "let_go.sh")
TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                    "..", ".."))
PYTHON = "/usr/bin/python3"  # where the one we run under is not for everybody

# Arguments: a directory, the sources, the shared material, and the command.
PREPARE = f"""
    here=$1 top=$2 shared=$3; shift 3
    mknod "$here/fuse" c 10 229 && chmod 666 "$here/fuse" &&
        mount --bind "$here/fuse" /dev/fuse &&
        echo user_allow_other >"$here/fuse.conf" &&
        cp /etc/passwd "$here/passwd" &&
        echo "tacfs-test:x:{USER}:{USER}::/:/bin/sh" >>"$here/passwd" &&
        echo "tacfs-friend:x:{FRIEND}:{FRIEND}::/:/bin/sh" >>"$here/passwd" &&
        chmod 644 "$here/fuse.conf" "$here/passwd" &&
        mount --bind "$here/fuse.conf" /etc/fuse.conf &&
        mount --bind "$here/passwd" /etc/passwd &&
        mount --bind "$top" "$here/top" &&
        {{ [ -z "$shared" ] || mount --bind "$shared" "$here/shared"; }} || exit 77
    exec "$@"
"""

BECOME = {
    "root": [],
    "user": ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"],
}
BECOME["userns"] = [*BECOME["user"], "unshare", "-Urm"]


def _moved(path, here, shared):
    """Where a path lies for the user."""
    path = os.path.realpath(path)
    for old, new in ((TOP, "top"), (shared, "shared")):
        if old and (path + "/").startswith(old + "/"):
            return here + "/" + new + path[len(old):]
    return path


def _environment(here, shared):
    moved = {name: _moved(value, here, shared) for name, value in os.environ.items()
             if name.startswith("TACFS_") and value.startswith("/")}
    return {**os.environ, **moved, "TACFS_TEST_DIR": here + "/tests",
            "TMPDIR": here + "/tests", "HOME": here + "/tests", "LC_ALL": "C.UTF-8"}


def _make_room(here, as_whom):
    os.chmod(here, 0o755)
    for name in "top", "shared", "tests":
        os.mkdir(os.path.join(here, name))
    if as_whom != "root":
        os.chown(os.path.join(here, "tests"), USER, USER)


def _python():
    """One that users may run."""
    done = subprocess.run([*BECOME["user"], "sh", "-c", 'exec "$0" -c ""',
                           sys.executable], capture_output=True)
    return sys.executable if done.returncode == 0 else PYTHON


def _run(here, as_whom, arguments):
    shared = os.path.realpath(os.environ["TACFS_SHARED"]) \
        if os.path.isdir(os.environ.get("TACFS_SHARED", "")) else ""
    command = ["unshare", "-m", "--propagation", "private", LET_GO, "sh", "-c", PREPARE,
               "sh", here, TOP, shared, *BECOME[as_whom], _python(),
               _moved(arguments[0], here, shared), *arguments[1:]]
    environment = _environment(here, shared)
    environment["TACFS_ENTERED"] = as_whom
    process = subprocess.Popen(command, env=environment)
    # All of these become the script, which ends what it started.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: process.send_signal(number))
    return process.wait()


def can_become(as_whom):
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "setpriv"))):
        return False
    return subprocess.run(["unshare", "-m", *BECOME[as_whom], "true"],
                          capture_output=True).returncode == 0


def run(as_whom, arguments):
    """The exit status of a Python script, run so with its arguments."""
    if not can_become(as_whom):
        print(f"needs root, unshare and setpriv, and namespaces, to run as {as_whom}")
        return 77
    here = tempfile.mkdtemp(prefix="tacfs-test-", dir=os.environ.get("TACFS_TEST_DIR"))
    try:
        _make_room(here, as_whom)
        return _run(here, as_whom, arguments)
    finally:
        shutil.rmtree(here, ignore_errors=True)


def run_again(as_whom):
    """Returns when this script runs so; else runs it so, and exits."""
    entered = os.environ.get("TACFS_ENTERED")
    if entered and entered != as_whom:
        print(f"needs to run as {as_whom}, not as {entered}")
        sys.exit(77)
    if not entered:
        sys.exit(run(as_whom, sys.argv))


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in BECOME:
        sys.exit(f"usage: enter.py {'|'.join(BECOME)} SCRIPT [ARGUMENT...]")
    sys.exit(run(sys.argv[1], sys.argv[2:]))
