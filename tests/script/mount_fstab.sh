#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# mount_fstab -- mount(8), fstab and systemd reach tiffinfs as they reach other file systems.
#
# In a mount namespace of its own, where /usr/sbin has mount.fuse.tiffin.
if [ -z "${MOUNT_FSTAB_INSIDE:-}" ]; then
	unshare -m --propagation private true 2>/dev/null || { echo "skipped: no mount namespace"; exit 0; }
	MOUNT_FSTAB_INSIDE=1 exec unshare -m --propagation private sh "$0"
fi
. "$(dirname "$0")/lib.sh"

BUILD=${TIFFIN_BUILD:-$ROOT/build}
sbin=$(readlink -f /sbin)
mkdir "$T/sbin"
ln -s "$(command -v tiffinfs)" "$T/sbin/mount.fuse.tiffin"
# Two lower layers and no upper one: nothing can be written through it, and nothing of the system lies
# below $T, which is removed at the end.
mount -t overlay -o "ro,lowerdir=$T/sbin:$sbin" overlay "$sbin" || { echo "skipped: no overlay"; exit 0; }

shown() { findmnt -n -o "$1" "$M"; }
gone() { ! grep -q " $M fuse.tiffin " /proc/mounts; }
up 64MiB
t put hello "$T/p1.ready" || die "put"

echo "mount -t"
mount -t fuse.tiffin "$MASTER" "$M" -o nosuid,noatime,_netdev,nofail,x-systemd.automount || die "mount"
is "type" fuse.tiffin "$(shown FSTYPE)"
is "source" "$MASTER" "$(shown SOURCE)"
[ -e "$M/hello" ] || die "nothing is there"
case $(shown OPTIONS) in *nosuid*noatime*) ;; *) die "options: $(shown OPTIONS)" ;; esac
umount "$M" || die "umount"
wait_for 5 gone || die "still there"

echo "what it refuses"
expect "an option that there is not" 1 mount -t fuse.tiffin "$MASTER" "$M" -o nonsense=1 2>"$T/said"
grep -q "nonsense is not an option" "$T/said" || die "said: $(cat "$T/said")"
expect "no master" 3 mount -t fuse.tiffin "unix:$T/nobody" "$M" -o timeout=1 2>"$T/said"
is "one line" 1 "$(wc -l <"$T/said")"
expect "no such place" 32 mount -t fuse.tiffin "$MASTER" "$T/none" 2>"$T/said"
gone || die "mounted all the same"

echo "fstab"
echo "$MASTER $M fuse.tiffin _netdev,noauto,x-mount.note=a,comment=b,ro,prefix=d,uid=7 0 0" >"$T/fstab"
t put d/f "$T/p1.ready" || die "put"
mount -T "$T/fstab" "$M" || die "mount DIR"
is "the prefix" f "$(ls "$M")"
is "uid" 7 "$(stat -c %u "$M/f")"
if touch "$M/new" 2>/dev/null; then die "written to, though ro"; fi
umount "$M" && wait_for 5 gone || die "umount"
mount -f -T "$T/fstab" "$M" || die "mount -f"
gone || die "mount -f mounts"
sed 's/noauto,//' "$T/fstab" >"$T/auto"
mount -a -T "$T/auto" -O _netdev || die "mount -a"
is "mount -a" f "$(ls "$M")"
mount -a -T "$T/auto" -O _netdev || die "mount -a again"
is "once" 1 "$(grep -c " $M fuse.tiffin " /proc/mounts)"
umount -a -O _netdev -t fuse.tiffin -T "$T/auto" 2>/dev/null
umount "$M" 2>/dev/null
wait_for 5 gone || die "umount"

echo "units"
if command -v systemd-analyze >/dev/null && [ -f "$BUILD/tiffinfs.service" ]; then
	for unit in tiffinfs tiffinfs@; do
		sed "s|^ExecStart=[^ ]*|ExecStart=$(command -v tiffinfs)|" "$BUILD/$unit.service" >"$T/$unit.service"
	done
	systemd-analyze verify --man=no "$T/tiffinfs.service" >"$T/said" 2>&1 || die "tiffinfs.service: $(cat "$T/said")"
	cp "$T/tiffinfs@.service" "$T/tiffinfs@mnt-x.service"
	systemd-analyze verify --man=no "$T/tiffinfs@mnt-x.service" >"$T/said" 2>&1 || die "tiffinfs@.service: $(cat "$T/said")"
fi
down
umount "$sbin"
