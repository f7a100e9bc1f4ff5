// A dumbbell with long-lived TCP flows in ns-3: the counterpart of dumbbell.toml and dumbbell.tcl.
//
// Senders hang on the left router over a fast link each, which carries the flow's share of the delay; receivers sit
// on the right router itself, because links behind it would add nothing but events. Nothing is traced; with
// --monitor=1 the bottleneck's queue is measured. The result is one line of JSON on stdout.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

// What the point-to-point link adds to an IP packet, bytes.
constexpr uint32_t kPppHeader = 2;
// IPv4 and TCP headers without options, bytes.
constexpr uint32_t kTcpIpHeaders = 40;

struct Settings
{
    uint32_t flows = 50;
    double duration = 60;
    double warmup = 5;
    double rate = 100e6;
    double delay = 0.020;
    double rttMin = 0.060;
    double rttMax = 0.080;
    double startSpan = 1;
    double access = 1e9;
    uint32_t packet = 1500;
    std::string queue = "red";
    uint32_t limit = 1000;
    double redMin = 100;
    double redMax = 300;
    double redMaxP = 0.1;
    double redWq = 0.002;
    uint32_t seed = 1;
    bool monitor = false;

    void Parse(int argc, char** argv)
    {
        CommandLine cmd(__FILE__);
        cmd.AddValue("flows", "number of flows", flows);
        cmd.AddValue("duration", "seconds simulated", duration);
        cmd.AddValue("warmup", "seconds at the start that the statistics leave out", warmup);
        cmd.AddValue("rate", "rate of the bottleneck, bit/s", rate);
        cmd.AddValue("delay", "its one-way delay, s", delay);
        cmd.AddValue("rtt_min", "base round-trip time of the first flow, s", rttMin);
        cmd.AddValue("rtt_max", "base round-trip time of the last flow, s", rttMax);
        cmd.AddValue("start_span", "flows start evenly spread over this many seconds", startSpan);
        cmd.AddValue("access", "rate of the senders' links, bit/s", access);
        cmd.AddValue("packet", "size of a data packet on the wire, bytes", packet);
        cmd.AddValue("queue", "red or droptail", queue);
        cmd.AddValue("limit", "size of the queue, packets", limit);
        cmd.AddValue("red_min", "RED's lower threshold, packets", redMin);
        cmd.AddValue("red_max", "RED's upper threshold, packets", redMax);
        cmd.AddValue("red_maxp", "RED's drop probability at the upper threshold", redMaxP);
        cmd.AddValue("red_wq", "RED's weight of a new sample", redWq);
        cmd.AddValue("seed", "seed of the random numbers", seed);
        cmd.AddValue("monitor", "1: measure the bottleneck's queue; 0: run bare, for timing", monitor);
        cmd.Parse(argc, argv);
    }
};

// The queue's length as an integral over time, from the end of the warm-up on.
class QueueIntegral
{
  public:
    void Restart()
    {
        m_sum = 0;
        m_since = Simulator::Now();
    }

    void Update(uint32_t, uint32_t packets)
    {
        Advance();
        m_packets = packets;
    }

    // Packets times seconds.
    double Value()
    {
        Advance();
        return m_sum;
    }

  private:
    void Advance()
    {
        const Time now = Simulator::Now();
        m_sum += m_packets * (now - m_since).GetSeconds();
        m_since = now;
    }

    double m_sum = 0;
    Time m_since;
    uint32_t m_packets = 0;
};

// The queue discipline's counters at one moment.
struct Counters
{
    uint64_t received = 0;
    uint64_t dropped = 0;
    uint64_t sent = 0;
    uint64_t sentBytes = 0;

    static Counters Of(const Ptr<QueueDisc>& queue)
    {
        const auto& stats = queue->GetStats();
        return {stats.nTotalReceivedPackets,
                stats.nTotalDroppedPackets,
                stats.nTotalSentPackets,
                stats.nTotalSentBytes};
    }
};

void
Configure(const Settings& s)
{
    RngSeedManager::SetSeed(s.seed);
    GlobalValue::Bind("SchedulerType", StringValue("ns3::CalendarScheduler"));
    // A packet is for this node if its address is that of the interface it came in by. Otherwise the left router would
    // compare every packet with the addresses of all its interfaces.
    Config::SetDefault("ns3::Ipv4::WeakEsModel", BooleanValue(false));

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    // ns-2's agents have no timestamps; without them all data packets have the same size in both.
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(s.packet - kTcpIpHeaders - kPppHeader));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(100)));
    // Windows that never limit a flow (its share of path and queue is about 20 kB). The sender fills its buffer at once,
    // so more of it would cost time.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(512 << 10));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(512 << 10));

    const QueueSize limit(QueueSizeUnit::PACKETS, s.limit);
    Config::SetDefault("ns3::RedQueueDisc::MaxSize", QueueSizeValue(limit));
    Config::SetDefault("ns3::RedQueueDisc::MinTh", DoubleValue(s.redMin));
    Config::SetDefault("ns3::RedQueueDisc::MaxTh", DoubleValue(s.redMax));
    Config::SetDefault("ns3::RedQueueDisc::LInterm", DoubleValue(1 / s.redMaxP));
    Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(s.redWq));
    Config::SetDefault("ns3::RedQueueDisc::MeanPktSize", UintegerValue(s.packet));
    Config::SetDefault("ns3::RedQueueDisc::LinkBandwidth", DataRateValue(DataRate(uint64_t(s.rate))));
    Config::SetDefault("ns3::RedQueueDisc::LinkDelay", TimeValue(Seconds(s.delay)));
    Config::SetDefault("ns3::RedQueueDisc::Gentle", BooleanValue(true));
    // The gaps between drops as in the RED paper and in Linux: uniform over 1 to 1/p, not over 1/p to 2/p.
    Config::SetDefault("ns3::RedQueueDisc::Wait", BooleanValue(false));
    Config::SetDefault("ns3::FifoQueueDisc::MaxSize", QueueSizeValue(limit));
}

NetDeviceContainer
Link(Ptr<Node> a, Ptr<Node> b, double rate, double delay, uint32_t packets)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    link.SetQueue("ns3::DropTailQueue",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
    return link.Install(a, b);
}

} // namespace

int
main(int argc, char** argv)
{
    Settings s;
    s.Parse(argc, argv);
    Configure(s);

    NodeContainer routers(2);
    NodeContainer hosts(s.flows);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    // A default route a host and a route a host on the router: no lookup is longer than it has to be.
    Ipv4StaticRoutingHelper staticRouting;
    stack.SetRoutingHelper(staticRouting);
    stack.Install(routers);
    stack.Install(hosts);

    const auto left = routers.Get(0);
    const auto right = routers.Get(1);
    TrafficControlHelper noQueueDiscs;

    // The device's own queue takes one packet; the queue discipline holds the others.
    const auto bottleneck = Link(left, right, s.rate, s.delay, 1);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    TrafficControlHelper control;
    control.SetRootQueueDisc(s.queue == "red" ? "ns3::RedQueueDisc" : "ns3::FifoQueueDisc");
    const auto queue = control.Install(bottleneck.Get(0)).Get(0);
    const auto middle = addresses.Assign(bottleneck);
    noQueueDiscs.Uninstall(bottleneck.Get(1));
    bottleneck.Get(1)->SetAttribute("TxQueue",
                                    PointerValue(CreateObjectWithAttributes<DropTailQueue<Packet>>(
                                        "MaxSize", StringValue("100000p"))));
    staticRouting.GetStaticRouting(right->GetObject<Ipv4>())->SetDefaultRoute(middle.GetAddress(0), 1);

    constexpr uint16_t kPort = 9;
    const InetSocketAddress sinkAddress(middle.GetAddress(1), kPort);
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), kPort));
    sink.Install(right).Start(Seconds(0));

    for (uint32_t i = 0; i < s.flows; ++i)
    {
        const double share = s.flows > 1 ? double(i) / (s.flows - 1) : 0;
        const double rtt = s.rttMin + share * (s.rttMax - s.rttMin);
        const auto host = hosts.Get(i);
        const auto devices = Link(host, left, s.access, rtt / 2 - s.delay, 100000);
        addresses.NewNetwork();
        const auto ends = addresses.Assign(devices);
        noQueueDiscs.Uninstall(devices);
        staticRouting.GetStaticRouting(host->GetObject<Ipv4>())->SetDefaultRoute(ends.GetAddress(1), 1);

        BulkSendHelper source("ns3::TcpSocketFactory", sinkAddress);
        source.SetAttribute("SendSize", UintegerValue(s.packet - kTcpIpHeaders - kPppHeader));
        source.Install(host).Start(Seconds(s.startSpan * i / s.flows));
    }

    Counters atWarmup;
    QueueIntegral integral;
    Simulator::Schedule(Seconds(s.warmup), [&] {
        atWarmup = Counters::Of(queue);
        integral.Restart();
    });
    if (s.monitor)
    {
        queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&QueueIntegral::Update, &integral));
    }

    Simulator::Stop(Seconds(s.duration));
    Simulator::Run();

    const double span = s.duration - s.warmup;
    const auto end = Counters::Of(queue);
    // The queue discipline counts IP packets; the link carries the PPP header on top.
    const auto packets = end.sent - atWarmup.sent;
    const double bits = 8.0 * (end.sentBytes - atWarmup.sentBytes + kPppHeader * packets);
    const auto dropped = end.dropped - atWarmup.dropped;
    const auto received = std::max<uint64_t>(end.received - atWarmup.received, 1);
    std::cout << std::fixed << std::setprecision(5) << "{\"utilization\":" << bits / (s.rate * span)
              << ",\"loss\":" << double(dropped) / received;
    if (s.monitor)
    {
        std::cout << ",\"mean_queue_packets\":" << integral.Value() / span;
    }
    std::cout << ",\"drops\":" << dropped << ",\"packets\":" << packets << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
