#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: debian.sh SUITE [USER...]
# Installs a minimal Debian (bookworm, trixie) into a folder, clones this checkout into it and runs ./dev demo and ./dev test
# there: as root, and as a user with sudo. Between the two, its program is compared with this machine's (build/release), report
# by report: another SystemC, another compiler. Needs root. The mirror is that of this machine's own apt sources.
set -eu
cd "$(dirname "$0")/../.."
suite=$1
shift
[ $# -gt 0 ] || set -- root user
[ "$(id -u)" = 0 ] || { echo "debian.sh: needs root" >&2; exit 2; }

# shellcheck disable=SC2016  # apt-get expands the $( )
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/\?$' | head -n 1)
[ -n "$mirror" ] || { echo "debian.sh: no Debian mirror in this machine's apt sources" >&2; exit 2; }

work=$(mktemp -d "${TMPDIR:-/tmp}/npulab-$suite.XXXXXX")
base=$work/base
leave() {
  for root in "$work"/*; do umount "$root/proc" 2>/dev/null || true; done
  rm -rf --one-file-system "$work"
}
trap leave EXIT

echo "== $suite: minimal system"
debootstrap --variant=minbase "$suite" "$base" "$mirror" >"$work.log"
# What this machine needs to reach its mirrors, a fresh system needs too.
apt-config dump | grep '^Acquire::' >"$base/etc/apt/apt.conf.d/99host"
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
  if [ -f "$file" ]; then mkdir -p "$base$(dirname "$file")"; cp "$file" "$base$file"; fi
done
git clone -q --no-hardlinks . "$base/npulab"

# compare ROOT: every kernel, each on both SIMD paths, here and there. A path below ROOT means the same in the chroot.
compare() {
  mkdir -p "$1$(dirname "$1")" "$1.program"
  ln -s / "$1$1"
  cat >"$1.program/npulab" <<WRAPPER
#!/bin/sh
exec chroot "$1" /npulab/build/npulab "\$@"
WRAPPER
  chmod +x "$1.program/npulab"
  NPULAB_PROGRAMS=$PWD/build/release/npulab:$1.program/npulab NPULAB_RUNS=${NPULAB_RUNS:-20} \
    .venv/bin/python -m pytest -q --basetemp "$1/reports" tests/determinism
}

./dev build release
for account in "$@"; do
  root=$work/$account
  cp -a "$base" "$root"
  mount -t proc proc "$root/proc"
  if [ "$account" != root ]; then
    chroot "$root" sh -ec "apt-get update -q; apt-get install -qy --no-install-recommends sudo; useradd -m $account
      echo '$account ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$account; chown -R $account /npulab" >>"$work.log" 2>&1
  fi
  for command in demo test; do
    echo "== $suite as $account: ./dev $command"
    chroot "$root" su "$account" -c "cd /npulab && ./dev $command" </dev/null
    if [ "$command" = demo ]; then
      echo "== $suite as $account: reports compared with this machine's"
      compare "$root"
    fi
  done
  umount "$root/proc"
  rm -rf --one-file-system "$root"
done
rm -f "$work.log"
