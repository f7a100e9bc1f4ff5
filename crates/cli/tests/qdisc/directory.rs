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
        mount -t tmpfs none /mnt
        cp /run/gentle/* /mnt
        mount -o remount,ro /mnt
        mount --move /mnt /run/gentle
        if gentle qdisc remove spare 2>/run/said; then exit 1; fi
        cat /run/said",
    ) else {
        return;
    };
    assert!(
        text.contains("spare cannot be changed: Read-only file system"),
        "{text}"
    );
}
