#!/usr/bin/env bash
# The wheel in dist/ where nothing else is: a fresh Debian of Python and no compiler, made by debootstrap once for each
# suite (bookworm has Python 3.11, trixie 3.13). packaging/newcomer.py says what is done there. Needs root.
#     packaging/root.sh [bookworm | trixie] [WHEEL]
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${1:-bookworm}
wheel=${2:-$(echo dist/*.whl)}
root=$PWD/build/root/$suite

if [ ! -e "$root/.made" ]; then
  command -v debootstrap >/dev/null || { echo "packaging/root.sh needs debootstrap: apt-get install debootstrap" >&2; exit 1; }
  rm -rf "$root"
  debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$suite" "$root" >/dev/null
  touch "$root/.made"
fi

# Names and certificates as this machine has them; the rest is the root's own.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
rm -rf "$root/try"
mkdir -p "$root/try/pages"
cp "$wheel" packaging/newcomer.py "$root/try/"
cp -r README.md docs "$root/try/pages/"
# /proc is mounted for this run alone.
export root
exec unshare --mount --propagation private sh -c 'mount -t proc proc "$root/proc" && exec chroot "$root" /usr/bin/env -i \
  HOME=/root LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin ${PIP_CERT:+PIP_CERT="$PIP_CERT"} \
  sh -c "cd /try && exec python3 newcomer.py ./*.whl pages"'
