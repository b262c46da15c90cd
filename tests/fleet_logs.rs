//! Logs that are followed through a connection that breaks.

use crate::support::relay::Relay;
use crate::support::{Fleet, Run, eventually};

/// With more than 64 streams the server does not say where a follower reads on.
const RANKS: u32 = 33;

/// Each rank writes on both streams while nobody hears it, fails, and goes on in the next attempt.
const WRITES: &str = r#"
until_there() { until [ -e "$1" ]; do sleep 0.3; done; }
echo "rank $RANK is up"
if [ "$TORCHELASTIC_RESTART_COUNT" = 0 ]; then
    echo "rank $RANK sees" >&2
    until_there "$0/cut"
    for i in 1 2 3 4 5; do echo "rank $RANK out $i"; echo "rank $RANK err $i" >&2; done
    until_there "$0/fail"
    exit 1
fi
for i in 6 7 8; do echo "rank $RANK out $i"; done
until_there "$0/end"
echo "rank $RANK is done"
"#;

#[test]
fn who_follows_many_streams_misses_nothing_of_what_came_while_the_connection_was_broken() {
    let fleet = Fleet::of(&[("gn6", RANKS)]);
    let folder = fleet.place.path().to_owned();
    let relay = Relay::to(fleet.address().rsplit(':').next().unwrap().parse().unwrap());
    let id = fleet.create(serde_json::json!({
        "taskName": "many",
        "command": { "argv": ["/bin/sh", "-c", WRITES, folder] },
        "policies": { "restart": { "maxRestarts": 1 } },
        "distributedConfig": { "framework": "command" },
    }));
    let all_say = |attempt: u32, text: &str| {
        (0..RANKS).for_each(|rank| fleet.says(&id, attempt, rank, &format!("rank {rank} {text}")));
    };
    all_say(1, "is up");
    let mut command = fleet.place.fermi(["task", "logs", &id, "-f", "--tail", "1"]);
    command.env("FERMI_SERVER", format!("http://127.0.0.1:{}", relay.port())).env("FERMI_TOKEN", fleet.token());
    let follower = Run::start(&mut command);
    eventually("all ranks to be shown", || (follower.stdout_so_far().matches("sees").count() == 33).then_some(()));
    relay.answer(502);
    std::fs::write(folder.join("cut"), "").unwrap();
    all_say(1, "out 5");
    std::fs::write(folder.join("fail"), "").unwrap();
    all_say(2, "out 8");
    relay.answer(0);
    std::fs::write(folder.join("end"), "").unwrap();
    let shown = follower.ended().expect(0).out();
    for rank in 0..RANKS {
        let own = format!("[gn6:{rank}] rank {rank} ");
        let mut lines: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix(&own)).collect();
        lines.sort_unstable();
        let numbered = |stream: &str, numbers: std::ops::RangeInclusive<u32>| {
            numbers.map(|number| format!("{stream} {number}")).collect::<Vec<_>>()
        };
        let mut written = [numbered("err", 1..=5), numbered("out", 1..=8)].concat();
        written.extend(["is done", "is up", "is up", "sees"].map(str::to_owned));
        written.sort_unstable();
        assert_eq!(lines, written, "of rank {rank}");
    }
}
