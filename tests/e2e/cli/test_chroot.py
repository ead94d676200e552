"""scripts/chroot.sh runs as root: what it trusts, and where the programs of a chroot run."""

import os
import platform
import shutil
import subprocess
import tarfile

import pytest

from conftest import ROOT

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], stderr=subprocess.DEVNULL).returncode != 0,
    reason="needs root, and namespaces",
)
# Stands for every program of the chroot, and says whether the script is the first process where it runs.
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **arguments)
{
    (void)count;
    dprintf(1, "%s %s\n", arguments[0], getppid() == 1 ? "apart" : "on the host");
    return 0;
}
"""
FOLDERS = ["etc/apt/apt.conf.d", "etc/dpkg/dpkg.cfg.d", "etc/sudoers.d", "home/tester", "dev", "proc", "sys", "run", "usr/local/share", "usr/bin"]


@pytest.fixture
def chroots(tmp_path):
    """A cache with the archive of a system."""
    program = tmp_path / "program"
    subprocess.run(["cc", "-static", "-x", "c", "-o", program, "-"], input=PROGRAM, text=True, check=True)
    has_dpkg = shutil.which("dpkg")
    machine = subprocess.check_output([has_dpkg, "--print-architecture"], text=True).strip() if has_dpkg else platform.machine()
    folder = tmp_path / "chroots"
    folder.mkdir(mode=0o700)
    with tarfile.open(folder / f"bookworm-{machine}.tar", "w") as archive:
        for name in FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name in ("useradd", "update-ca-certificates", "chown", "env"):
            archive.add(program, f"usr/bin/{name}")
    return folder


def chroot(folder, tmp_path):
    (tmp_path / "bin").mkdir(exist_ok=True)
    (tmp_path / "bin" / "debootstrap").write_text("#!/bin/false\n")
    (tmp_path / "bin" / "debootstrap").chmod(0o755)
    environment = {"PATH": f"{tmp_path}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(tmp_path), "KYMO_CHROOT_DIR": str(folder)}
    return subprocess.run([ROOT / "scripts" / "chroot.sh", "--user", "true"], env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_programs_of_a_chroot_run_in_namespaces_of_their_own(chroots, tmp_path):
    result = chroot(chroots, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["useradd apart", "chown apart", "env apart"]
    assert [path.name for path in chroots.glob("tree.*")] == []


@pytest.mark.parametrize(("owner", "mode", "reason"), [(0, 0o777, "others may write in"), (0, 0o1777, "others may write in"), (12345, 0o700, "does not belong to root")])
def test_a_cache_that_others_may_have_written_is_refused(tmp_path, owner, mode, reason):
    folder = tmp_path / "chroots"
    folder.mkdir()
    folder.chmod(mode)
    os.chown(folder, owner, -1)
    result = chroot(folder, tmp_path)
    assert result.returncode == 1 and str(folder) in result.stderr and reason in result.stderr
