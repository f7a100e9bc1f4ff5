//! Names of the nodes, services and pods of a Kubernetes cluster, from the JSON that `kubectl get -o json` prints.
//!
//! The fields are those of the [Kubernetes API](https://kubernetes.io/docs/reference/kubernetes-api/) (core v1, discovery.k8s.io/v1).

use super::given::{NamesError, Source};
use serde::Deserialize;
use std::net::IpAddr;

/// List of objects; kubectl prints one of any kinds of objects.
#[derive(Deserialize)]
struct List {
    items: Vec<Object>,
}

/// Object that has addresses. Fields that are missing are as if they were null.
#[derive(Deserialize)]
#[serde(tag = "kind")]
enum Object {
    Service {
        metadata: Metadata,
        spec: Option<ServiceSpec>,
        status: Option<ServiceStatus>,
    },
    EndpointSlice {
        metadata: Metadata,
        endpoints: Option<Vec<Endpoint>>,
    },
    Pod {
        metadata: Metadata,
        spec: Option<PodSpec>,
        status: Option<PodStatus>,
    },
    Node {
        metadata: Metadata,
        status: Option<NodeStatus>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    namespace: Option<String>,
    labels: Option<Labels>,
}

#[derive(Deserialize)]
struct Labels {
    #[serde(rename = "kubernetes.io/service-name")]
    service: Option<String>,
}

#[derive(Deserialize)]
struct ServiceSpec {
    #[serde(rename = "clusterIPs")]
    cluster_ips: Option<Vec<String>>,
    #[serde(rename = "externalIPs")]
    external_ips: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServiceStatus {
    load_balancer: Option<LoadBalancer>,
}

#[derive(Deserialize)]
struct LoadBalancer {
    ingress: Option<Vec<Ip>>,
}

#[derive(Deserialize)]
struct Ip {
    ip: Option<String>,
}

#[derive(Deserialize)]
struct Endpoint {
    addresses: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    host_network: Option<bool>,
    node_name: Option<String>,
}

#[derive(Deserialize)]
struct PodStatus {
    phase: Option<String>,
    #[serde(rename = "podIPs")]
    pod_ips: Option<Vec<Ip>>,
    #[serde(rename = "hostIP")]
    host_ip: Option<String>,
    #[serde(rename = "hostIPs")]
    host_ips: Option<Vec<Ip>>,
}

#[derive(Deserialize)]
struct NodeStatus {
    addresses: Option<Vec<NodeAddress>>,
}

#[derive(Deserialize)]
struct NodeAddress {
    address: Option<String>,
}

impl Metadata {
    /// Name of an object in the namespace: `namespace/name`.
    fn within(&self, name: &str) -> String {
        self.namespace.as_ref().map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
    }
}

impl PodStatus {
    /// Whether the pod has ended: its address may already be that of another one.
    fn has_ended(&self) -> bool {
        matches!(self.phase.as_deref(), Some("Succeeded" | "Failed"))
    }
}

/// Passes the addresses of all objects with their names to `insert`, until that fails.
pub(super) fn read(
    json: &str,
    mut insert: impl FnMut(IpAddr, Source, &str) -> Result<(), NamesError>,
) -> Result<(), NamesError> {
    let list: List = serde_json::from_str(json).map_err(|error| NamesError::Kubernetes(error.to_string()))?;
    // Texts that are no addresses are host names, or `None` for a service without an address.
    let mut name = |addresses: &mut dyn Iterator<Item = &String>, source, name: &str| {
        let mut addresses = addresses.filter_map(|text| text.parse::<IpAddr>().ok());
        addresses.try_for_each(|address| insert(address.to_canonical(), source, name))
    };
    for object in &list.items {
        match object {
            Object::Service { metadata, spec, status } => {
                let own = spec.iter().flat_map(|spec| [&spec.cluster_ips, &spec.external_ips]).flatten().flatten();
                let balancers = status.iter().filter_map(|status| status.load_balancer.as_ref());
                let ingress = of(balancers.filter_map(|balancer| balancer.ingress.as_ref()));
                name(&mut own.chain(ingress), Source::Service, &metadata.within(&metadata.name))?;
            }
            Object::EndpointSlice { metadata, endpoints } => {
                let Some(service) = metadata.labels.as_ref().and_then(|labels| labels.service.as_ref()) else {
                    continue;
                };
                let mut addresses = endpoints.iter().flatten().filter_map(|it| it.addresses.as_ref()).flatten();
                name(&mut addresses, Source::Endpoint, &metadata.within(service))?;
            }
            Object::Pod { metadata, spec: Some(spec), status: Some(status) } => {
                if let Some(node) = &spec.node_name {
                    name(&mut status.host_ip.iter().chain(of(status.host_ips.iter())), Source::Node, node)?;
                }
                if spec.host_network != Some(true) && !status.has_ended() {
                    name(&mut of(status.pod_ips.iter()), Source::Pod, &metadata.within(&metadata.name))?;
                }
            }
            Object::Node { metadata, status } => {
                let addresses = status.iter().filter_map(|status| status.addresses.as_ref()).flatten();
                name(&mut addresses.filter_map(|it| it.address.as_ref()), Source::Node, &metadata.name)?;
            }
            Object::Pod { .. } | Object::Other => {}
        }
    }
    Ok(())
}

/// Texts of lists of addresses.
fn of<'a>(lists: impl Iterator<Item = &'a Vec<Ip>>) -> impl Iterator<Item = &'a String> {
    lists.flatten().filter_map(|it| it.ip.as_ref())
}

#[cfg(test)]
mod tests {
    use super::super::GivenNames;

    const CLUSTER: &str = include_str!("../../tests/data/names/kubernetes.json");

    #[test]
    fn addresses_have_the_names_of_their_services_pods_and_nodes() {
        let mut names = GivenNames::default();
        names.read(CLUSTER).expect("the output of kubectl");
        for (address, name) in [
            ("10.96.0.1", Some("default/kubernetes")),
            ("10.96.12.7", Some("shop/cart")),
            ("fd00:96::c7", Some("shop/cart")),
            ("198.51.100.80", Some("shop/gateway")),
            ("203.0.113.10", Some("shop/gateway")),
            // A pod that serves a service, and pods that serve none.
            ("10.244.1.7", Some("shop/cart")),
            ("fd00:244:1::7", Some("shop/cart-7d4b9c6f5-x2x9k")),
            ("10.244.2.9", Some("shop/db-0")),
            ("10.244.1.51", Some("shop/batch-1")),
            // The address of a pod that has ended may be in use again.
            ("10.244.1.50", None),
            // Nodes, although a pod on the first one uses its network.
            ("192.0.2.21", Some("worker-1")),
            ("192.0.2.22", Some("worker-2")),
            ("192.0.2.20", Some("control-1")),
        ] {
            assert_eq!(names.of(address.parse().expect("an address")), name, "{address}");
        }
    }

    #[test]
    fn lines_precede_objects_whatever_their_order() {
        let lines = "10.96.12.7 mine\n10.0.0.0/8 cluster\n";
        for texts in [[CLUSTER, lines], [lines, CLUSTER]] {
            let mut names = GivenNames::default();
            texts.iter().for_each(|text| names.read(text).expect("right texts"));
            let of = |address: &str| names.of(address.parse().expect("an address"));
            assert_eq!(
                ["10.96.12.7", "10.96.0.1", "10.9.9.9"].map(of),
                [Some("mine"), Some("default/kubernetes"), Some("cluster")]
            );
        }
    }

    #[test]
    fn other_json_is_an_error_with_its_place() {
        for (json, problem) in [
            ("{}", "missing field `items` at line 1 column 2"),
            ("{\"items\": [\n7]}", "line 2"),
            ("{\"items\": [{\"metadata\": {\"name\": \"a\"}}]}", "missing field `kind`"),
            ("{\"items\": []", "EOF while parsing"),
            ("{\"items\": [{\"kind\": \"Service\"}]}", "missing field `metadata`"),
        ] {
            let error = GivenNames::default().read(json).expect_err("other JSON").to_string();
            assert!(error.contains(problem), "{error}");
            let expected = "; expected the List that kubectl get services,pods,endpointslices -A -o json prints";
            assert!(error.ends_with(expected), "{error}");
        }
        assert_eq!(GivenNames::default().read("{\"kind\": \"List\", \"items\": []}"), Ok(()));
    }
}
