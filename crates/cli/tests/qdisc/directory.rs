//! The directory of saved states.

use super::namespace::stdout;

#[test]
fn what_serves_nothing_is_deleted_from_the_directory_and_nothing_else() {
    let Some(text) = stdout(
        r#"gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit
        cd /run/gentle
        boot=$(ls | sed -n 's/-.*json//p')
        inode=$(stat -L -c %i /proc/self/ns/net)
        mine=$(ls *.json)
        other() { sed "s/\"netns\":[0-9]*/\"netns\":$2/" $mine >$1; }
        other deadbeef-1-3-egress.json 7
        other $boot-9999991-3-egress.json $inode
        other $boot-9999991-3-ingress.journal $inode
        other $boot-9999992-3-egress.json 7
        echo damaged >$boot-9999993-3-egress.json
        sed 's/"root"/"ages-00000001.o"/' $mine >$boot-9999994-3-egress.json
        sed -i "s/\"netns\":[0-9]*/\"netns\":7/" $boot-9999994-3-egress.json
        touch ages-00000001.o ages-00000002.o ages-00000002.new $boot-9999992-3-egress.new
        for command in "apply wan 'pfifo limit=50' --rate 20mbit" 'remove wan'; do
            eval gentle qdisc $command >/dev/null
            ls | sed "s/^$mine/mine/; s/^$boot-//"
            echo
        done"#,
    ) else {
        return;
    };
    let other = "9999992-3-egress.json\n9999993-3-egress.json\n9999994-3-egress.json\n";
    let (setup, after) = text.split_once('\n').expect("lines");
    assert!(setup.contains("set up"), "{text}");
    let classifier = "ages-00000001.o\nlock\n";
    let sorted = |text: &str| -> Vec<String> {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let expected = format!("{other}{other}mine\n{classifier}{classifier}\n\n");
    assert_eq!(sorted(after), sorted(&expected), "{text}");
}

#[test]
fn a_read_only_directory_is_named_as_such() {
    let Some(text) = stdout(
        "gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit
        tc qdisc del dev wan root
        index=$(cat /sys/class/net/wan/ifindex)
        ip link add name spare type veth peer name far
        gentle qdisc apply spare pfifo --rate 20mbit
        ip link del spare
        mount -t tmpfs -o mode=700 none /mnt
        cp /run/gentle/* /mnt
        mount -o remount,ro /mnt
        mount --move /mnt /run/gentle
        if gentle qdisc remove spare 2>/run/said; then exit 1; fi
        cat /run/said",
    ) else {
        return;
    };
    assert!(text.contains("spare cannot be changed: Read-only file system"), "{text}");
}

/// Any user can lock a file that he can open.
#[test]
fn no_other_user_can_hold_the_lock() {
    let Some(text) = stdout(
        r#"mkdir -m 755 /run/gentle
        touch /run/gentle/lock
        gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit
        if setpriv --reuid=65534 --clear-groups sh -c 'exec 9</run/gentle/lock' 2>/dev/null; then exit 1; fi
        gentle qdisc remove wan
        rm -r /run/gentle
        umask 0
        timeout 20 gentle qdisc apply wan 'pfifo limit=60' --rate 20mbit
        stat -c '%a %u' /run/gentle /run/gentle/*"#,
    ) else {
        return;
    };
    assert!(text.ends_with("700 0\n600 0\n600 0\n"), "{text}");
}

#[test]
fn a_command_that_waits_says_for_which_process() {
    let Some(text) = stdout(
        r#"gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit
        echo 4711 >/run/gentle/lock
        flock /run/gentle/lock sleep 1 &
        sleep 0.3
        gentle qdisc remove wan 2>&1"#,
    ) else {
        return;
    };
    assert!(
        text.contains("note: waiting for process 4711, or a command that it started, which has locked /run/gentle/lock\nwan: egress removed"),
        "{text}"
    );
}

/// Saved state becomes commands that root executes.
#[test]
fn nothing_is_read_from_or_written_to_a_directory_of_another_user() {
    let Some(text) = stdout(
        r#"gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit
        tc qdisc show dev wan >/run/before
        for mine in /run/gentle/*.json; do
            echo kept >/run/target
            ln -s /run/target ${mine%.json}.new
            rm $mine
            ln -s /run/target $mine
        done
        gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit 2>&1 || echo "links: $?"
        chown -R 65534 /run/gentle
        gentle qdisc apply wan 'pfifo limit=60' --rate 20mbit 2>&1 || echo "owner: $?"
        gentle qdisc remove wan 2>&1 || echo "owner: $?"
        tc qdisc show dev wan | diff /run/before -
        chown -R 0 /run/gentle
        chmod 777 /run/gentle
        gentle qdisc remove wan 2>&1 || echo "mode: $?"
        tc qdisc show dev wan | diff /run/before -
        cat /run/target
        chmod 700 /run/gentle
        gentle qdisc remove wan --discard"#,
    ) else {
        return;
    };
    for part in [
        ".json is a symbolic link, which is not followed; delete it",
        "links: 1",
        "/run/gentle belongs to user 65534",
        "owner: 1",
        "others than its owner can write to /run/gentle; check its files, then run: chmod 700 /run/gentle",
        "mode: 1",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.ends_with("kept\nwan: egress removed\n"), "{text}");
}
