#!/usr/bin/env bash
# The servers of one study as three instances of the systemd unit, on one machine: each does its work, and sees only its
# own folders and key. TREFOIL_LONG=1, as root: by a systemd of their own, in namespaces and on an overlay. Writes TAP.
set -u
. tests/scripts/support.sh
if [ -z "${TREFOIL_LONG:-}" ] || [ "$(id -u)" -ne 0 ] || ! [ -x /lib/systemd/systemd ] || [[ ${TREFOIL_OUT:-build/gcc} == *-* ]]; then
    skip "three instances of the unit" "that needs TREFOIL_LONG=1, root and systemd, and a build without a sanitizer"
    end_test
fi
group=
finish() {
    kill -9 "$init" "$outer" 2>/dev/null
    for _ in {1..100}; do # until its processes are gone
        [ -d "$group" ] || break
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    done
    rm -rf --one-file-system "$folder"
}
trap finish EXIT
init='' outer=''
"$trefoil" demo --folder "$folder/demo" >"$folder/said" 2>&1
result $? "a study"
sed "s|@PREFIX@|/usr/local|" 'tools/trefoil@.service' >"$folder/unit"

# --- what runs inside

cat >"$folder/boot" <<'END'
set -e
folder=$1 trefoil=$2 root=$1/top/root
mount --make-rprivate /
mkdir "$folder/top" && mount -t tmpfs top "$folder/top" && mkdir "$folder"/top/{upper,work,root}
mount -t overlay over -o "lowerdir=/,upperdir=$folder/top/upper,workdir=$folder/top/work" "$root"
mount -t proc proc "$root/proc" && mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=755 none "$root/sys/fs/cgroup" && mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for name in run tmp dev; do mount -t tmpfs -o mode=755 none "$root/$name"; done
for name in null zero full random urandom tty; do touch "$root/dev/$name" && mount --bind "/dev/$name" "$root/dev/$name"; done
mkdir "$root"/dev/{shm,pts} && mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts" && ln -s pts/ptmx "$root/dev/ptmx"
rm -rf "$root"/etc/systemd/system/*.wants "$root/etc/trefoil" "$root/var/lib/trefoil"
cp "$folder/unit" "$root/etc/systemd/system/trefoil@.service"
install -m 755 "$trefoil" "$root/usr/local/bin/trefoil"
for name in alder birch cedar; do
    install -D -m 644 "$folder/demo/study.yaml" "$root/etc/trefoil/$name/study.yaml"
    install -m 600 "$folder/demo/$name.key" "$root/etc/trefoil/$name/server.key"
done
cp -r "$folder/demo" "$root/srv/demo"
ip link set lo up
mount --make-rshared "$root"
exec chroot "$root" env -i container=trefoil PATH="$PATH" /lib/systemd/systemd --unit=multi-user.target --log-level=warning
END
cat >"$folder/work" <<'END'
id trefoil || useradd --system --home-dir /var/lib/trefoil --shell /usr/sbin/nologin trefoil
install -d -o trefoil /var/lib/trefoil
until [ -S /run/systemd/private ] && [ -S /run/dbus/system_bus_socket ]; do sleep 0.1; done
systemctl is-system-running --wait
systemctl start trefoil@alder trefoil@birch trefoil@cedar || exit 1
cd /srv/demo && rm -rf result *.heads *.receipt
for name in university rural heart-clinic childrens island harbour; do
    person=()
    [ $name != harbour ] || person=(--person number)
    trefoil share study.yaml "$name.csv" --key "$name.key" --accept-warnings "${person[@]}" || exit 1
done
trefoil run study.yaml --key analyst.key --out result --rounds 1 || exit 1
see() { nsenter -t "$(systemctl show -p MainPID --value trefoil@alder)" -m -r -w setpriv --reuid=trefoil --regid=trefoil --clear-groups "$@"; }
see ls /etc/trefoil /var/lib/trefoil /run/credentials >sees
other=/proc/$(systemctl show -p MainPID --value trefoil@birch)
! see cat /etc/trefoil/alder/server.key && ! see ls "$other/cwd" && ! see touch /var/lib/trefoil/new &&
    ! grep -E 'birch|cedar' sees && [ "$(grep -c alder sees)" -eq 3 ]
END

# --- a systemd

mkdir "$folder/group" && mount -t cgroup2 cgroup2 "$folder/group" 2>/dev/null &&
    { group=/sys/fs/cgroup; [ -d $group/unified ] && group+=/unified; group+=/trefoil-$port; mkdir "$group"; } &&
    umount "$folder/group"
(echo $BASHPID >"$group/cgroup.procs" && exec unshare -m -p -u -i -n -C --fork bash "$folder/boot" "$folder" "$trefoil") >"$folder/boot.log" 2>&1 &
outer=$!
disown
within 10 pgrep -P "$outer" -x systemd >/dev/null
init=$(pgrep -P "$outer" -x systemd)
if [ -z "$init" ]; then
    sed 's/^/# /' "$folder/boot.log"
    skip "three instances of the unit" "no systemd starts here"
    end_test
fi
timeout "$(patience 30)" nsenter -t "$init" -m -p -u -i -n -C -r -w bash <"$folder/work" >"$folder/said" 2>&1
status=$?
[ $status -eq 0 ] || tail -n 30 "$folder/said" | sed 's/^/# /'
result $status "share and run with three instances, each of which sees its own folders and key alone"
end_test
