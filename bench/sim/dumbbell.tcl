# A dumbbell with long-lived TCP flows in ns-2: the counterpart of dumbbell.toml and dumbbell.cc.
#
#     ns dumbbell.tcl [key=value ...]
#
# Senders hang on the left router over a fast link each, which carries the flow's share of the delay; receivers sit on
# the right router itself, because links behind it would add nothing but events. Nothing is traced. The result is one
# line of JSON on stdout.

proc defaults {} {
    return {
        flows       50
        duration    60.0
        warmup      5.0
        rate        100e6
        delay       0.020
        rtt_min     0.060
        rtt_max     0.080
        start_span  1.0
        access      1e9
        packet      1500
        tcp         fullsack
        overhead    0
        queue       red
        limit       1000
        red_min     100
        red_max     300
        red_maxp    0.1
        red_wq      0.002
        seed        1
        monitor     0
        lean        0
    }
}

proc usage {} {
    puts stderr "usage: ns dumbbell.tcl \[key=value ...\]"
    puts stderr "
  flows       number of flows
  duration    seconds simulated
  warmup      seconds at the start that the statistics leave out
  rate        rate of the bottleneck, bit/s
  delay       its one-way delay, s
  rtt_min     base round-trip time of the first flow, s
  rtt_max     base round-trip time of the last flow, s; those between are spread evenly
  start_span  flows start evenly spread over this many seconds
  access      rate of the senders' links, bit/s
  packet      size of a data packet on the wire, bytes
  tcp         fullsack (Agent/TCP/FullTcp/Sack), sack (Agent/TCP/Sack1), newreno (Agent/TCP/Newreno)
  overhead    upper bound of the random time a sender waits before each packet, s: breaks phase effects
  queue       red or droptail
  limit       size of the queue, packets
  red_min     RED's lower threshold, packets
  red_max     RED's upper threshold, packets
  red_maxp    RED's drop probability at the upper threshold
  red_wq      RED's weight of a new sample
  seed        seed of the random numbers
  monitor     1: measure the bottleneck's queue; 0: run bare, for timing
  lean        1: only the packet headers needed, and the fastest scheduler; 0: as ns-2 comes
"
    puts stderr "Defaults: [string trim [regsub -all {\s+} [defaults] { }]]"
    exit 2
}

array set opt [defaults]
foreach argument $argv {
    if {![regexp {^(\w+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "dumbbell.tcl: cannot use \"$argument\""
        usage
    }
    set opt($key) $value
}

# IPv4 and TCP headers without options, which is what ns-2 adds to `packetSize_` and `segsize_`.
set header 40

ns-random $opt(seed)
if {$opt(lean)} {
    # Without the headers this run does not need, ns-2 allocates and clears much less memory for every packet.
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}
set ns [new Simulator]
if {$opt(lean)} {
    $ns use-scheduler Calendar
}

# Windows that never limit a flow; the congestion window alone does.
Agent/TCP set window_ 100000
Agent/TCP set packetSize_ [expr {$opt(packet) - $header}]
Agent/TCP set overhead_ $opt(overhead)
Agent/TCP/FullTcp set segsize_ [expr {$opt(packet) - $header}]
# A delayed acknowledgement for every second segment, or after 100 ms.
Agent/TCP/FullTcp set segsperack_ 2
Agent/TCP/FullTcp set interval_ 0.1
Agent/TCPSink/DelAck set interval_ 0.1
Agent/TCPSink/Sack1/DelAck set interval_ 0.1

Queue/RED set thresh_ $opt(red_min)
Queue/RED set maxthresh_ $opt(red_max)
Queue/RED set linterm_ [expr {1.0 / $opt(red_maxp)}]
Queue/RED set q_weight_ $opt(red_wq)
Queue/RED set mean_pktsize_ $opt(packet)
Queue/RED set idle_pktsize_ $opt(packet)
Queue/RED set queue_in_bytes_ false
Queue/RED set bytes_ false
Queue/RED set setbit_ false
Queue/RED set adaptive_ 0
Queue/RED set gentle_ true
# The gaps between drops as in the RED paper and in Linux: uniform over 1 to 1/p, not over 1/p to 2/p.
Queue/RED set wait_ false

switch $opt(queue) {
    red { set discipline RED }
    droptail { set discipline DropTail }
    default { usage }
}

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $opt(rate) $opt(delay) $discipline
$ns simplex-link $right $left $opt(rate) $opt(delay) DropTail
$ns queue-limit $left $right $opt(limit)
$ns queue-limit $right $left 100000

# Agents for one flow between two nodes, connected, as a list {sender receiver}.
proc connection {ns kind from to} {
    switch $kind {
        sack {
            set pair [list [new Agent/TCP/Sack1] [new Agent/TCPSink/Sack1/DelAck]]
        }
        newreno {
            set pair [list [new Agent/TCP/Newreno] [new Agent/TCPSink/DelAck]]
        }
        fullsack {
            set pair [list [new Agent/TCP/FullTcp/Sack] [new Agent/TCP/FullTcp/Sack]]
        }
        default usage
    }
    lassign $pair sender receiver
    $ns attach-agent $from $sender
    $ns attach-agent $to $receiver
    $ns connect $sender $receiver
    if {$kind eq "fullsack"} {
        $receiver listen
    }
    return $pair
}

set senders {}
for {set i 0} {$i < $opt(flows)} {incr i} {
    set share [expr {$opt(flows) > 1 ? double($i) / ($opt(flows) - 1) : 0.0}]
    set rtt [expr {$opt(rtt_min) + $share * ($opt(rtt_max) - $opt(rtt_min))}]
    set host [$ns node]
    $ns duplex-link $host $left $opt(access) [expr {$rtt / 2.0 - $opt(delay)}] DropTail
    $ns queue-limit $host $left 100000
    $ns queue-limit $left $host 100000

    set sender [lindex [connection $ns $opt(tcp) $host $right] 0]
    set source [new Application/FTP]
    $source attach-agent $sender
    $ns at [expr {$opt(start_span) * $i / $opt(flows)}] "$source start"
    lappend senders $sender
}

set queue_monitor ""
if {$opt(monitor)} {
    set queue_monitor [$ns monitor-queue $left $right ""]
}

# The bottleneck's counters at this moment, and the integral of the queue over time (packets times seconds).
proc counters {} {
    global ns queue_monitor
    if {$queue_monitor eq ""} {
        return {}
    }
    set integral [$queue_monitor get-pkts-integrator]
    $integral newpoint [$ns now] [$integral set lasty_]
    return [list \
        [$queue_monitor set parrivals_] [$queue_monitor set pdrops_] [$queue_monitor set pdepartures_] \
        [$queue_monitor set bdepartures_] [$integral set sum_]]
}

proc finish {} {
    global opt header senders at_warmup
    # One-way agents count packets in `ack_`, FullTcp counts bytes.
    set unit [expr {$opt(tcp) eq "fullsack" ? $opt(packet) - $header : 1}]
    set acknowledged 0.0
    foreach sender $senders {
        set acknowledged [expr {$acknowledged + double([$sender set ack_]) / $unit}]
    }
    set measured ""
    if {$opt(monitor)} {
        set now [counters]
        lassign $at_warmup arrivals0 drops0 departures0 bytes0 integral0
        lassign $now arrivals drops departures bytes integral
        set span [expr {$opt(duration) - $opt(warmup)}]
        append measured [format {"utilization":%.5f,"loss":%.6f,"mean_queue_packets":%.2f,} \
            [expr {($bytes - $bytes0) * 8.0 / ($opt(rate) * $span)}] \
            [expr {($drops - $drops0) / double($arrivals - $arrivals0)}] \
            [expr {($integral - $integral0) / $span}]]
        append measured [format {"drops":%.0f,"packets":%.0f,} \
            [expr {$drops - $drops0}] [expr {$departures - $departures0}]]
    }
    puts [format {{%s"packets_acknowledged":%.0f}} $measured $acknowledged]
    exit 0
}

$ns at $opt(warmup) {set at_warmup [counters]}
$ns at $opt(duration) finish
$ns run
