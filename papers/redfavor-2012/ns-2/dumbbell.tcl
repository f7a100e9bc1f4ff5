# The dumbbell of redfavor-2012 under RED in ns-2, which the paper used.
#
#     ns dumbbell.tcl connections=FILE trace=FILE times=FILE [key=value ...]
#
# Senders hang on the left router over a fast link each, receivers on the right one; the pairs differ in delay. Nine
# pairs have a long-lived flow and web connections to the right, a tenth has a long-lived flow to the left. Web
# connections are listed in FILE, one a line: start in seconds, segments, number of the pair; with web=1, ns-2's own
# web traffic (PagePool/WebTraf) takes their place.
#
# `trace` gets ns-2's events of the bottleneck's queue, `times` a line per completed connection: start, segments,
# seconds.

array set opt {
    connections ""
    trace       ""
    times       ""
    duration    500
    rate        10e6
    access      100e6
    rtt_min     0.005
    rtt_max     0.100
    reverse_rtt 0.100
    segment     1000
    window      20
    tcp         sack
    long        9
    limit       50
    red_min     5
    red_max     15
    red_maxp    0.1
    red_wq      0.001953125
    gentle      true
    bytes       false
    wait        false
    web         0
    sessions    135
    mean        12
    seed        1
}
foreach argument $argv {
    if {![regexp {^(\w+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "dumbbell.tcl: cannot use \"$argument\"; expected one of: [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}

ns-random $opt(seed)
set ns [new Simulator]
set header 40

Agent/TCP set window_ $opt(window)
Agent/TCP set packetSize_ $opt(segment)
Agent/TCP/FullTcp set segsize_ $opt(segment)

# A queue in packets; every packet counts the same, and so does its drop probability.
Queue/RED set thresh_ $opt(red_min)
Queue/RED set maxthresh_ $opt(red_max)
Queue/RED set linterm_ [expr {1.0 / $opt(red_maxp)}]
Queue/RED set q_weight_ $opt(red_wq)
Queue/RED set mean_pktsize_ [expr {$opt(segment) + $header}]
Queue/RED set queue_in_bytes_ $opt(bytes)
Queue/RED set bytes_ false
Queue/RED set setbit_ false
Queue/RED set adaptive_ 0
Queue/RED set gentle_ $opt(gentle)
Queue/RED set wait_ $opt(wait)

set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $opt(rate) 0.001 RED
$ns queue-limit $left $right $opt(limit)
$ns queue-limit $right $left $opt(limit)
set trace [open $opt(trace) w]
Trace set show_tcphdr_ 1
$ns trace-queue $left $right $trace
set times [open $opt(times) w]

# One end of a pair; the delay of its link is what is left of the round-trip time.
proc host {router rtt} {
    global ns opt
    set node [$ns node]
    $ns duplex-link $node $router $opt(access) [expr {$rtt / 4.0 - 0.0005}] DropTail
    $ns queue-limit $node $router 100000
    $ns queue-limit $router $node 100000
    return $node
}

for {set i 0} {$i < $opt(long)} {incr i} {
    set share [expr {$opt(long) > 1 ? double($i) / ($opt(long) - 1) : 0.0}]
    set rtt [expr {$opt(rtt_min) + $share * ($opt(rtt_max) - $opt(rtt_min))}]
    set server($i) [host $left $rtt]
    set client($i) [host $right $rtt]
}
set reverse_client [host $left $opt(reverse_rtt)]
set reverse_server [host $right $opt(reverse_rtt)]

set unused {}

# Agents of a connection, attached and connected, as a list: sender, receiver.
proc connection {from to} {
    global ns opt unused
    if {[llength $unused]} {
        set pair [lindex $unused 0]
        set unused [lrange $unused 1 end]
    } else {
        switch $opt(tcp) {
            sack { set pair [list [new Agent/TCP/Sack1] [new Agent/TCPSink/Sack1]] }
            reno { set pair [list [new Agent/TCP/Reno] [new Agent/TCPSink]] }
            fullsack { set pair [list [new Agent/TCP/FullTcp/Sack] [new Agent/TCP/FullTcp/Sack]] }
        }
    }
    foreach {sender receiver} $pair {}
    $ns attach-agent $from $sender
    $ns attach-agent $to $receiver
    $ns connect $sender $receiver
    if {$opt(tcp) eq "fullsack"} {
        $receiver listen
    }
    return $pair
}

proc start_long {from to} {
    set source [new Application/FTP]
    $source attach-agent [lindex [connection $from $to] 0]
    $source start
}

proc start_web {segments pair} {
    global ns opt server client
    foreach {sender receiver} [connection $server($pair) $client($pair)] {}
    # One-way agents call the first, FullTcp the second.
    foreach name {done done_data} {
        $sender proc $name {} "ended $sender $receiver $pair [$ns now] $segments"
    }
    if {$opt(tcp) eq "fullsack"} {
        $sender sendmsg [expr {$segments * $opt(segment)}] MSG_EOF
    } else {
        $sender advance $segments
    }
}

array set over {}
proc ended {sender receiver pair start segments} {
    global ns times over
    # FullTcp says so more than once.
    if {[info exists over($sender,$start)]} return
    set over($sender,$start) 1
    puts $times "$start $segments [expr {[$ns now] - $start}]"
    # Packets of the connection may still be under way.
    $ns at [expr {[$ns now] + 5.0}] "release $sender $receiver $pair $start"
}

# Agents are used again: ns-2 crashes if one is deleted that still has a timer. FullTcp cannot be used again.
proc release {sender receiver pair start} {
    global ns opt server client over unused
    unset over($sender,$start)
    $ns detach-agent $server($pair) $sender
    $ns detach-agent $client($pair) $receiver
    $sender reset
    $receiver reset
    if {$opt(tcp) eq "fullsack"} return
    lappend unused [list $sender $receiver]
}

# Starts listed connections one after the other, so that no more than one is scheduled.
proc start_next {} {
    global ns opt list
    if {[gets $list line] < 0} return
    foreach {at segments pair} $line {}
    $ns at $at "start_web $segments $pair; start_next"
}

for {set i 0} {$i < $opt(long)} {incr i} {
    $ns at 0.0 "start_long $server($i) $client($i)"
}
$ns at 0.0 "start_long $reverse_server $reverse_client"

if {$opt(web)} {
    PagePool/WebTraf set TCPTYPE_ Sack1
    PagePool/WebTraf set TCPSINKTYPE_ TCPSink/Sack1
    PagePool/WebTraf instproc done-resp { id pid clnt svr stcp ssnk size sent sent_th {startTime 0} {fid 0} } {
        global times
        puts $times "$startTime $size [expr {[[Simulator instance] now] - $startTime}]"
        $stcp reset
        $ssnk reset
        [Simulator instance] detach-agent $clnt $ssnk
        [Simulator instance] detach-agent $svr $stcp
        $self recycle $stcp $ssnk
        $self doneObj $pid
    }
    set pool [new PagePool/WebTraf]
    $pool set-num-client $opt(long)
    $pool set-num-server $opt(long)
    for {set i 0} {$i < $opt(long)} {incr i} {
        $pool set-client $i $client($i)
        $pool set-server $i $server($i)
    }
    $pool set-num-session $opt(sessions)
    proc exponential {mean} {
        set variable [new RandomVariable/Exponential]
        $variable set avg_ $mean
        return $variable
    }
    set gap [exponential 0.5]
    set pages [exponential 240]
    set at 0.1
    for {set i 0} {$i < $opt(sessions)} {incr i} {
        set size [new RandomVariable/Pareto]
        $size set avg_ $opt(mean)
        $size set shape_ 1.2
        set number [expr {int(ceil([$pages value]))}]
        $pool create-session $i $number $at [exponential 5] [exponential 3] [exponential 0.1] $size
        set at [expr {$at + [$gap value]}]
    }
} else {
    set list [open $opt(connections)]
    start_next
}

proc finish {} {
    global ns trace times
    $ns flush-trace
    close $trace
    close $times
    exit 0
}
$ns at $opt(duration) finish
$ns run
