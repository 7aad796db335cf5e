#!/bin/sh
# Runs as process 1 of new namespaces for pid, mount, uts and ipc, and in the caller's network namespace. It makes a
# file system from parts of this machine's file system, enters a new cgroup namespace, and becomes systemd.
#   boot.sh TREE CGROUP REPOSITORY PROGRAM...
# TREE is an empty folder, and CGROUP is a folder of cgroup2. The container gets the machine's /usr read-only, except
# /usr/local and the folders in which packages declare users and units, which are empty. /etc, /var, /run, /tmp and
# /dev are new. REPOSITORY is mounted as /src, and each PROGRAM is copied to /usr/local/bin. The container cannot
# change files of the machine.
set -eu
umask 022

tree=$1 cgroup=$2 repository=$3
shift 3

# All mounts from here on end with this mount namespace.
mount --make-rprivate /
mount -t tmpfs -o mode=0755 tree "$tree"
for folder in etc dev home opt proc root run src srv sys tmp usr var old; do mkdir "$tree/$folder"; done
chmod 1777 "$tree/tmp"
chmod 0700 "$tree/root"
mkdir "$tree/var/lib" "$tree/var/log" "$tree/var/tmp"
ln -s /run "$tree/var/run"

mount --bind /usr "$tree/usr"
mount -o remount,bind,ro "$tree/usr"
for path in bin sbin lib lib32 lib64 libx32; do
    if [ -L "/$path" ]; then
        cp -P "/$path" "$tree/$path"
    elif [ -d "/$path" ]; then
        mkdir "$tree/$path"
        mount --bind "/$path" "$tree/$path"
        mount -o remount,bind,ro "$tree/$path"
    fi
done
# Units, generators and users of other packages must not be active in the container.
for folder in "$tree"/usr/local "$tree"/usr/lib/sysusers.d "$tree"/usr/lib/systemd/system-generators \
    "$tree"/usr/lib/systemd/system/*.target.wants; do
    if [ -d "$folder" ]; then mount -t tmpfs -o mode=0755 tree "$folder"; fi
done
mkdir -p "$tree/usr/local/bin" "$tree/usr/local/sbin"
cp "$@" "$tree/usr/local/bin/"
mount --bind "$repository" "$tree/src"
mount -o remount,bind,ro "$tree/src"

cd "$tree/etc"
cat >passwd <<'END'
root:x:0:0:root:/root:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
END
cat >group <<'END'
root:x:0:
nogroup:x:65534:
END
printf '%s: files\n' passwd group shadow hosts >nsswitch.conf
printf 'container\n' >hostname
tr -d - </proc/sys/kernel/random/uuid >machine-id
ln -s ../usr/lib/os-release os-release
if [ -e /etc/ld.so.cache ]; then cp /etc/ld.so.cache .; fi
if [ -d /etc/alternatives ]; then cp -a /etc/alternatives .; fi
mkdir -p systemd/system/sysinit.target.wants systemd/system/sockets.target.wants systemd/journald.conf.d
ln -s /usr/lib/systemd/system/systemd-journald.service systemd/system/sysinit.target.wants/
for socket in systemd-journald.socket systemd-journald-dev-log.socket; do
    ln -s "/usr/lib/systemd/system/$socket" systemd/system/sockets.target.wants/
done
cat >systemd/journald.conf.d/container.conf <<'END'
[Journal]
Storage=volatile
RateLimitIntervalSec=0
Audit=no
END

cd "$tree"
mount -t tmpfs -o mode=0755 tree dev
for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts
mount -t tmpfs -o mode=1777 tree dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
ln -s fd/1 dev/stdout
ln -s fd/2 dev/stderr
mount -t tmpfs -o mode=0755 tree run
# If /sys is read-only, as in all containers, systemd does not wait for udev.
mount -t sysfs -o ro sysfs sys
mount -t proc proc proc
for path in sys sysrq-trigger irq bus; do
    if [ -e "proc/$path" ]; then
        mount --bind "proc/$path" "proc/$path"
        mount -o remount,bind,ro "proc/$path"
    fi
done
ip link set lo up

echo 0 >"$cgroup/cgroup.procs"
# The container must not change the clock, the kernel or its modules, because they belong to the machine.
# shellcheck disable=SC2016 # the started shell expands the text
exec unshare --cgroup sh -euc '
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    pivot_root . old
    cd /
    umount -l /old
    rmdir /old
    # As systemd-nspawn does. Otherwise services do not see the credentials that systemd mounts for them.
    mount --make-rshared /
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin container=namespaces \
        setpriv --bounding-set=-sys_module,-sys_time,-sys_boot,-sys_rawio,-syslog,-wake_alarm,-audit_control \
        /usr/lib/systemd/systemd --show-status=no --log-level=notice
'
