# SPDX-License-Identifier: Apache-2.0
"""git, sqlite3, ccache, Python, an editor and the tools for files, on a mount.

Each does the same in a directory beside the store; what it says and leaves is
compared. A program that is not installed skips its test.
"""
import os
import random
import shutil
import sysconfig

import harness
from pair import PairTest

JOBS = harness.amount("2", "4")

IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "A"), ("EMAIL", "a@example.com"),
                                ("DATE", "2024-01-02T03:04:05Z"))}

GIT = """
git config --global init.defaultBranch main
git config --global pack.threads 1
git init -q repo
cd repo
cp -a "$MATERIAL" tree
git add .
git commit -qm first
for number in $(seq "$COMMITS"); do
    echo "$number" >>tree/log
    git mv tree/data "tree/data$number"
    git add .
    git commit -qm "change $number"
    git mv "tree/data$number" tree/data
    git commit -qm "change $number back"
done
git checkout -qb side HEAD~1
echo side >side
chmod 755 tree/log
git add .
git commit -qm side
git checkout -q main
git merge -q --no-edit side
git log --graph --oneline --stat
cd ..
git clone -q repo clone
git clone -q --bare "file://$PWD/repo" bare
git -C clone rm -q side
git -C clone commit -qm removed
git -C clone push -q ../bare HEAD:refs/heads/pushed
git -C repo fsck --full --strict 2>&1
for one in repo clone; do
    git -C $one gc -q --prune=now
    git -C $one fsck --full --strict 2>&1
    git -C $one rev-list --objects --all
done
git -C repo pull -q ../bare pushed
git -C repo status --porcelain
git -C clone clean -fdx
git -C clone status
"""

SQL = """
pragma journal_mode = {mode};
create table pairs (a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
    insert into pairs select i, hex(i * 7919) || printf('%.200c', 'x') from n;
begin; delete from pairs where a % 3 = 0; rollback;
begin; delete from pairs where a % 3 = 1; commit;
create index by_b on pairs (b);
begin; update pairs set b = b || 'y' where a % 2 = 0; savepoint here;
delete from pairs; rollback to here; commit;
select count(*), sum(length(b)), max(b) from pairs;
pragma integrity_check;
vacuum;
pragma integrity_check;
create table events (who text, number integer, primary key (who, number));
"""

# Writers and a reader at once; each statement is a transaction.
SQL_AT_ONCE = """
sqlite3 db <"$SCRIPT" >log
cat log
for who in first second; do
    for number in $(seq "$EVENTS"); do
        echo "insert into events values ('$who', $number);"
    done | sqlite3 -bail -cmd '.timeout 100000' db &
    eval "$who=$!"
done
for number in $(seq "$EVENTS"); do
    echo "select count(*) >= 0 from events;"
done | sqlite3 -bail -cmd '.timeout 100000' db >read
wait "$first"
wait "$second"
sort -u read
sqlite3 db 'select who, count(*), sum(number) from events group by who;
            pragma integrity_check;'
ls
sqlite3 db .dump | sort | sha256sum
"""

CCACHE = """
mkdir source cold warm
for number in $(seq "$FILES"); do
    printf '#include "all.h"\\nint f%d(int a) { return add(a, %d); }\\n' \
        "$number" "$number" >"source/$number.c"
done
echo 'static inline int add(int a, int b) { return a + b; }' >source/all.h
touch -d '2024-01-01' source/*
export CCACHE_DIR="$PWD/cache"
build() {
    (cd source && ls ./*.c) | xargs -P "$JOBS" -I{} \
        ccache gcc -O1 -c source/{} -o "$1"/{}.o
    ccache --print-stats | grep -E '^(direct_cache_(hit|miss)|cache_miss|files_in_cache|compile_failed|internal_error|missing_cache_file|error_hashing_extra_file)'
}
build cold
build warm
cmp cold/1.c.o warm/1.c.o
ccache --cleanup
CCACHE_RECACHE=1 build warm
"""

COMPILE = """
cp -a "$MATERIAL" lib
python3 -m compileall -q -j "$JOBS" lib
python3 -m compileall -q lib
touch -d '2024-05-06' lib/json/decoder.py
python3 -m compileall lib/json
python3 -c 'import sys; sys.path.insert(0, "lib"); sys.dont_write_bytecode = True
import json; print(json.__file__, json.__cached__, json.dumps({"a": [1, None]}))'
"""

SAVE = """
printf 'one\\ntwo\\n' >text
chmod 640 text
touch -d '2024-05-06' other
ln -s text link
for copy in auto no yes; do
    for name in text link; do
        "$EDITOR" -Nu NONE -es -c "set backupcopy=$copy backup writebackup" \
            -c "%s/\\(one\\|two\\)/&$copy/" -c wq "$name"
        "$EDITOR" -Nu NONE -es -c 'normal ggdd' -c 'wq!' "$name"
        printf 'one\\ntwo\\n' >>text
    done
done
sed -i s/one/three/ text
stat -c '%n %A %s %h' *
ls -A
"""

# As editors without a backup do.
REPLACE = """
echo old >text
chmod 640 text
for number in $(seq "$SAVES"); do
    exec 3<text
    echo "new $number" >.text.tmp
    sync .text.tmp
    chmod --reference=text .text.tmp
    mv -f .text.tmp text
    sync .
    cat text - <&3
    exec 3<&-
done
stat -c '%A %s' text
ls -A
"""


class Programs(PairTest):
    def material(self):
        """A directory with sources, data, links and modes, beside everything."""
        root = os.path.join(self.home, "material")
        chosen = random.Random(1)
        for number in range(harness.amount(10, 1000)):
            directory = os.path.join(root, f"d{number % 7}", f"e{number % 3}")
            os.makedirs(directory, exist_ok=True)
            path = os.path.join(directory, f"file{number}.c")
            with open(path, "wb") as file:
                file.write(b"int x;\n" * chosen.randrange(2000))
            os.chmod(path, chosen.choice([0o644, 0o755]))
        with open(os.path.join(root, "data"), "wb") as file:
            file.write(chosen.randbytes(harness.amount(100_000, 30_000_000)))
        os.symlink("data", os.path.join(root, "link"))
        os.symlink("nowhere", os.path.join(root, "dangling"))
        return root

    def test_git(self):
        self.need("git")
        commits = harness.amount("1", "60")
        self.compare(GIT, MATERIAL=self.material(), COMMITS=commits, **IDENTITY)
        for name in ("repo/tree", "clone/tree"):
            self.assertSameTrees(name)

    def check_sqlite(self, mode):
        self.need("sqlite3")
        script = os.path.join(self.home, "script")
        with open(script, "w", encoding="ascii") as file:
            file.write(SQL.format(mode=mode, rows=harness.amount(500, 50000)))
        self.compare(SQL_AT_ONCE, SCRIPT=script, EVENTS=harness.amount("10", "500"))

    def test_sqlite_with_a_rollback_journal(self):
        self.check_sqlite("delete")

    def test_sqlite_with_a_persistent_journal(self):
        self.check_sqlite("persist")

    def test_sqlite_with_a_write_ahead_log(self):
        self.check_sqlite("wal")

    def test_ccache(self):
        self.need("ccache", "gcc")
        files = harness.amount(3, 200)
        output = self.compare(CCACHE, FILES=str(files), JOBS=JOBS)
        self.assertIn(f"direct_cache_hit\t{files}\n", output)
        for name in ("cold", "warm"):
            self.assertSameTrees(name)

    def test_compileall(self):
        material = os.path.join(self.home, "lib")
        packages = harness.amount(("json",), ("json", "email", "asyncio", "xml"))
        for package in packages:
            shutil.copytree(os.path.join(sysconfig.get_path("stdlib"), package),
                            os.path.join(material, package),
                            ignore=shutil.ignore_patterns("__pycache__"))
        self.compare(COMPILE, MATERIAL=material, JOBS=JOBS)
        self.assertSameTrees("lib")

    def test_vim(self):
        vim = "vim.tiny" if shutil.which("vim.tiny") else "vim"
        self.need(vim)
        self.compare(SAVE, EDITOR=vim)
        self.assertSameTrees()

    def test_save_by_renaming(self):
        self.compare(REPLACE, SAVES=harness.amount("5", "200"))
        self.assertSameTrees()


if __name__ == "__main__":
    harness.main()
