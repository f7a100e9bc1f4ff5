//! Commands that remove a setup, or what others have set up.

use crate::command::Command;
use crate::device_state::DeviceState;
use crate::netlink::TcMessage;
use crate::setup::Direction;

impl DeviceState {
    /// Commands that restore the default of the device, or a `clsact` without filters for incoming packets.
    pub(crate) fn clearing(&self) -> Vec<Command> {
        let (dev, own) = (&self.dev, &self.state.own);
        let mut commands = Vec::new();
        match self.direction {
            Direction::Egress if own.top().is_some() => {
                commands.push(Command::tc(&format!("qdisc del dev {dev} root")));
            }
            Direction::Egress => {}
            Direction::Ingress => {
                commands.extend(self.clearing_filters());
                if let Some(ifb) = &self.state.ifb {
                    commands.push(Command::ip("link del dev").arg(&ifb.name));
                }
            }
        }
        commands
    }

    /// The commands of [`clearing`](Self::clearing) as one line for a shell.
    pub(crate) fn clearing_as_text(&self) -> String {
        let commands: Vec<String> = self.clearing().iter().map(Command::to_string).collect();
        commands.join("; ")
    }

    /// Commands that remove the filters for incoming packets, and an `ingress` qdisc; of a setup of gentle's, its own filter
    /// only, since others may have added some.
    fn clearing_filters(&self) -> Vec<Command> {
        let (dev, own) = (&self.dev, &self.state.own);
        let delete = |what: &str| Command::tc(&format!("{what} del dev {dev} ingress"));
        if self.is_own() && (own.is_clsact() || self.has_filters_of_others()) {
            let command = self.redirect().map(|filter| self.clearing_redirect(filter));
            return command.into_iter().collect();
        }
        if own.has_blocks() && own.is_clsact() {
            return vec![Command::tc(&format!("qdisc del dev {dev} clsact"))];
        }
        if !own.is_clsact() {
            return own.top().map(|_| delete("qdisc")).into_iter().collect();
        }
        own.chains()
            .into_iter()
            .map(|chain| match chain {
                0 => delete("filter"),
                chain => delete("filter").arg("chain").arg(chain.to_string()),
            })
            .collect()
    }

    fn clearing_redirect(&self, filter: &TcMessage) -> Command {
        let (dev, preference) = (&self.dev, self.preference());
        let command = Command::tc(&format!("filter del dev {dev} ingress pref {preference}"));
        match self.state.own.filters_with(preference).count() {
            1 => command,
            _ => command
                .arg("protocol")
                .arg("all")
                .arg("handle")
                .arg(format!("{:x}::{:x}", filter.handle >> 20, filter.handle & 0xfff))
                .arg(filter.kind()),
        }
    }
}
