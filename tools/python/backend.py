"""Makes the wheel of the module trefoil with libtrefoil.so.0 in it: for pip (PEP 517) and for `make wheel`.

    python3 backend.py FOLDER       prints the path of the wheel
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Make decides whether the library has to be built. Gives the name of the wheel."""
    with tempfile.TemporaryDirectory() as stage:
        make = ["make", "-s", *([] if "MAKEFLAGS" in os.environ else [f"-j{os.cpu_count()}"])]
        built = subprocess.run([*make, "install-library", "install-python", "DESTDIR=" + stage, "PREFIX=",
                                "LIBDIR=/trefoil", "PYTHONDIR="], cwd=ROOT, close_fds=False, stdout=sys.stderr)
        if built.returncode:
            raise SystemExit("libtrefoil.so.0 was not built; `make deps` in a checkout of Trefoil installs what that needs")
        files = {f"trefoil/{f.name}": f.read_bytes() for f in Path(stage, "trefoil").iterdir()
                 if f.suffix in (".py", ".typed", ".0")}
    version = re.search(r"^VERSION := (.*)$", (ROOT / "Makefile").read_text(), re.M).group(1)
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = f"trefoil-{version}.dist-info/"
    files[info + "METADATA"] = (
        f"Metadata-Version: 2.1\nName: trefoil\nVersion: {version}\nSummary: Query released models of Trefoil and draw rows\n"
        "License: Apache-2.0\nRequires-Python: >=3.8\nProvides-Extra: pandas\nRequires-Dist: pandas; extra == 'pandas'\n"
    ).encode()
    files[info + "WHEEL"] = f"Wheel-Version: 1.0\nGenerator: trefoil\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[info + "LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = ""
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        record += f"{name},sha256={digest},{len(data)}\n"
    files[info + "RECORD"] = f"{record}{info}RECORD,,\n".encode()
    name = f"trefoil-{version}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in sorted(files.items()):  # a ZipInfo has no date of its own: the same bytes every time
            entry = zipfile.ZipInfo(path)
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("there is no source package of the module alone: the whole checkout makes its library")


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    print(os.path.join(sys.argv[1], build_wheel(sys.argv[1])))
