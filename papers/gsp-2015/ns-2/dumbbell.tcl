# Long-lived CUBIC flows over one queue with tail drop in ns-2: a second opinion on Figs. 7 and 10 of gsp-2015.
#
#     ns dumbbell.tcl [key=value ...]
#
# Prints one line of JSON: the utilization of the link, its lowest value over a round trip (100 ms), and the packets lost
# at once. Drops belong to one event if they follow its first drop within a round trip.

array set opt {
    flows   10
    rate    1e9
    buffer  1000000
    rtt     0.1
    start   5.0
    warmup  20.0
    end     80.0
    packet  1514
    ca      cubic
    beta    717
    seed    1
}
foreach argument $argv {
    if {![regexp {^(\w+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "dumbbell.tcl: cannot use \"$argument\"; keys and defaults: [array get opt]"
        exit 2
    }
    set opt($key) $value
}

remove-all-packet-headers
add-packet-header IP TCP Flags
ns-random $opt(seed)
set ns [new Simulator]
$ns use-scheduler Calendar

# Windows that never limit a flow, segments of `packet` bytes with the 40 bytes of headers that ns-2 counts.
Agent/TCP set window_ 100000
Agent/TCP set maxcwnd_ 0
Agent/TCP set packetSize_ [expr {$opt(packet) - 40}]
Agent/TCPSink/Sack1/DelAck set interval_ 0.04
Agent/TCPSink set maxSackBlocks_ 3

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $opt(rate) [expr {$opt(rtt) / 2}] DropTail
$ns simplex-link $right $left $opt(rate) [expr {$opt(rtt) / 2}] DropTail
$ns queue-limit $left $right [expr {int($opt(buffer) / $opt(packet))}]
$ns queue-limit $right $left 100000

set random [new RandomVariable/Uniform]
$random set min_ 0
$random set max_ $opt(start)
for {set i 0} {$i < $opt(flows)} {incr i} {
    set sender [new Agent/TCP/Linux]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $sender set fid_ $i
    $ns attach-agent $left $sender
    $ns attach-agent $right $sink
    $ns connect $sender $sink
    set source [new Application/FTP]
    $source attach-agent $sender
    $ns at 0 "$sender select_ca $opt(ca)"
    if {$opt(ca) eq "cubic"} {
        $ns at 0 "$sender set_ca_param cubic beta $opt(beta)"
    }
    $ns at [$random value] "$source start"
}

set monitor [$ns monitor-queue $left $right ""]

# Bytes sent and packets dropped in each slice of a tenth of a round trip.
set slice [expr {$opt(rtt) / 10}]
set sent {}
set lost {}
set last_bytes 0
set last_drops 0
proc sample {} {
    global ns monitor slice sent lost last_bytes last_drops
    set bytes [$monitor set bdepartures_]
    set drops [$monitor set pdrops_]
    # The counter has 32 bits.
    lappend sent [expr {($bytes - $last_bytes) & 0xffffffff}]
    lappend lost [expr {$drops - $last_drops}]
    set last_bytes $bytes
    set last_drops $drops
    $ns at [expr {[$ns now] + $slice}] sample
}

proc finish {} {
    global opt sent lost slice
    set full [expr {$opt(rate) * $slice / 8}]
    set lowest 1.0
    set total 0.0
    for {set i 0} {$i < [llength $sent]} {incr i} {
        set total [expr {$total + [lindex $sent $i]}]
        if {$i >= 9} {
            set window 0.0
            foreach bytes [lrange $sent [expr {$i - 9}] $i] { set window [expr {$window + $bytes}] }
            set share [expr {$window / (10 * $full)}]
            if {$share < $lowest} { set lowest $share }
        }
    }
    set events 0
    set drops 0
    set until -1
    for {set i 0} {$i < [llength $lost]} {incr i} {
        if {[lindex $lost $i] > 0} {
            if {$i >= $until} {
                incr events
                set until [expr {$i + 10}]
            }
            incr drops [lindex $lost $i]
        }
    }
    puts [format {{"utilization":%.4f,"lowest":%.3f,"events":%d,"drops_per_event":%.2f}} \
        [expr {$total / ([llength $sent] * $full)}] $lowest $events [expr {$events ? double($drops) / $events : 0.0}]]
    exit 0
}

$ns at $opt(warmup) {
    set last_bytes [$monitor set bdepartures_]
    set last_drops [$monitor set pdrops_]
    $ns at [expr {$opt(warmup) + $slice}] sample
}
$ns at $opt(end) finish
$ns run
