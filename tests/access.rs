//! A server is closed: who started it is let in without a step, others by what they were given.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{Fleet, Place, Run, eventually};
use serde_json::Value;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn who_starts_a_server_is_let_in_and_others_are_not() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    assert_eq!((mode(&fleet.data()), mode(&fleet.data().join("token"))), (0o700, 0o600));
    fleet.typed("owner", &["env", "list"]).expect(0);
    let refused = fleet.typed("ann", &["env", "list"]).expect(4);
    assert!(refused.err().contains("a token is needed") && refused.err().contains("fermi login"), "{}", refused.err());
    // The log of a server is read by others: the token is not in it.
    let log = fs::read_to_string(fleet.place.path().join("server.log")).unwrap();
    let token = fs::read_to_string(fleet.data().join("token")).unwrap();
    assert!(!log.contains(token.trim()), "{log}");
}

#[test]
fn a_server_for_programs_names_the_file_of_its_token_alone() {
    let place = Place::new();
    let data = place.path().join("server");
    for start in ["first", "second"] {
        let mut command = place.fermi(["server", "--json", "--listen", "127.0.0.1:0", "--data-dir"]);
        let server = Run::start(command.arg(&data));
        eventually("it to listen", || server.stdout_so_far().contains("\"listening\"").then_some(()));
        server.signal(libc::SIGTERM);
        let ended = server.ended();
        let token = fs::read_to_string(data.join("token")).unwrap();
        let said = ended.out() + &ended.err();
        assert!(!said.contains(token.trim()), "at the {start} start: {said}");
        let first: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
        assert_eq!(first, serde_json::json!({"event": "token", "file": data.join("token")}), "at the {start} start");
    }
}

#[test]
fn a_server_that_asks_for_no_token_warns_of_it() {
    for (language, warning) in [
        ("en", "no token is asked for: every user of this machine may run programs here"),
        ("zh", "未启用令牌：本机上的每个用户都能在这里运行程序"),
    ] {
        let place = Place::new();
        let mut command = place.fermi(["server", "--no-token", "--listen", "127.0.0.1:0", "--data-dir"]);
        let server = Run::start(command.arg(place.path().join("server")).env("FERMI_LANG", language));
        eventually("the warning", || server.stderr_so_far().contains(warning).then_some(()));
        server.signal(libc::SIGTERM);
        server.ended();
    }
}

#[test]
fn people_log_in_act_on_what_is_theirs_and_are_accounted_for() {
    let mut fleet = Fleet::server();
    fleet.add("gn6", 1, &["--run-as", "off"]);
    for (name, role) in [("ann", "member"), ("bob", "member"), ("eve", "viewer")] {
        let file = fleet.place.file(&format!("{name}.password"), format!("{name}'s password\n")).display().to_string();
        fleet.typed("owner", &["user", "add", name, "--role", role, "--password-file", &file]).expect(0);
        fleet.typed(name, &["login", "--user", name, "--password-file", &file]).expect(0);
        assert_eq!(mode(&fleet.place.path().join(name).join("logins")), 0o700);
    }
    let create = ["task", "create", "--name", "long", "--env", "gn6", "--framework", "command", "--", "sleep", "600"];
    fleet.typed("eve", &create).expect(4);
    let task = fleet.typed("ann", &create).expect(0).out().trim().to_owned();
    fleet.task_is(&task, "running");
    let refused = fleet.typed("bob", &["task", "stop", &task]).expect(4);
    assert!(refused.err().contains("it belongs to ann"), "{}", refused.err());
    fleet.typed("eve", &["task", "show", &task]).expect(0);
    fleet.typed("ann", &["task", "stop", &task]).expect(0);
    fleet.task_is(&task, "stopped");

    let word = fleet.typed("ann", &["token", "create", "nightly", "--role", "viewer"]).expect(0).out();
    let file = fleet.place.file("nightly", word).display().to_string();
    fleet.typed("nobody", &["task", "list", "--token-file", &file]).expect(0);
    fleet.typed("nobody", &["task", "delete", &task, "--token-file", &file]).expect(4);
    let tokens: Value =
        serde_json::from_str(&fleet.typed("ann", &["token", "list", "--json"]).expect(0).out()).unwrap();
    let all = tokens["items"].as_array().unwrap();
    let nightly = all.iter().find(|token| token["name"] == "nightly").unwrap();
    let strong = all.iter().find(|token| token["name"] != "nightly").unwrap()["id"].as_str().unwrap();
    let refused = fleet.typed("nobody", &["token", "revoke", strong, "--token-file", &file]).expect(4);
    assert!(refused.err().contains("to revoke a token of the role member takes that role"), "{}", refused.err());
    fleet.typed("ann", &["token", "revoke", nightly["id"].as_str().unwrap()]).expect(0);
    fleet.typed("nobody", &["task", "list", "--token-file", &file]).expect(4);

    let audit = fleet.typed("owner", &["audit", "--user", "ann", "--json"]).expect(0).out();
    let events: Value = serde_json::from_str(&audit).unwrap();
    let kinds: Vec<&str> = events["items"].as_array().unwrap().iter().map(|e| e["kind"].as_str().unwrap()).collect();
    for kind in ["session.opened", "task.created", "token.created", "token.revoked"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    fleet.typed("ann", &["logout"]).expect(0);
    fleet.typed("ann", &["task", "list"]).expect(4);
}

#[test]
fn a_log_in_leaves_one_token_at_the_server_and_none_where_it_cannot_be_noted() {
    let fleet = Fleet::server();
    let file = fleet.place.file("password", "ann's password\n").display().to_string();
    fleet.typed("owner", &["user", "add", "ann", "--password-file", &file]).expect(0);
    let tokens = || {
        let listed = fleet.typed("owner", &["token", "list", "--json"]).expect(0).out();
        let listed: Value = serde_json::from_str(&listed).unwrap();
        listed["items"].as_array().unwrap().iter().filter(|token| token["user"] == "ann").count()
    };
    let log_in = ["login", "--user", "ann", "--password-file", &file];
    // A file stands where the folder of log-ins would be.
    let logins = fleet.place.path().join("ann/logins");
    fs::create_dir_all(logins.parent().unwrap()).unwrap();
    fs::write(&logins, "").unwrap();
    let said = fleet.typed("ann", &log_in).expect(1).err();
    assert!(said.contains("the log-in cannot be noted") && tokens() == 0, "{said}");
    fs::remove_file(&logins).unwrap();
    for _ in 0..2 {
        fleet.typed("ann", &log_in).expect(0);
        assert_eq!(tokens(), 1);
    }
    // A token that was brought is the person's own.
    let word = fleet.typed("ann", &["token", "create", "laptop"]).expect(0).out();
    let own = fleet.place.file("laptop", word).display().to_string();
    fleet.typed("ann", &["login", "--token-file", &own]).expect(0);
    fleet.typed("ann", &log_in).expect(0);
    fleet.typed("ann", &["env", "list", "--token-file", &own]).expect(0);
}

#[test]
fn a_machine_joins_with_a_token_that_opens_nothing_else() {
    let fleet = Fleet::server();
    let word = fleet.typed("owner", &["token", "create", "gn6", "--scope", "agent"]).expect(0).out();
    let file = fleet.place.file("gn6-token", word).display().to_string();
    fleet.typed("machine", &["env", "list", "--token-file", &file]).expect(4);
    let (server, data) =
        (format!("http://{}", fleet.address()), fleet.place.path().join("agent").display().to_string());
    let words = ["agent", "--server", &server, "--name", "gn6", "--token-file", &file, "--data-dir", &data];
    let mut command = fleet.place.fermi(words);
    let agent = Run::start(command.env("FERMI_STATE_DIR", fleet.place.path().join("machine")));
    fleet.environment_is("gn6", "running");
    agent.signal(libc::SIGTERM);
    agent.ended();
}

#[test]
fn folders_that_others_may_enter_and_open_doors_to_the_network_are_refused() {
    let place = Place::new();
    let data = place.path().join("wide");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    let refused = |arguments: &[&str], code| {
        let mut command = place.fermi(["server", "--data-dir"]);
        Run::whole(command.arg(&data).args(arguments).env("FERMI_LANG", "en")).expect(code).err()
    };
    let said = refused(&["--listen", "127.0.0.1:0"], 1);
    assert!(said.contains("its mode is 755") && said.contains(&format!("chmod 700 {}", data.display())), "{said}");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
    let said = refused(&["--listen", "0.0.0.0:0", "--no-token"], 2);
    assert!(said.contains("anyone on the network could run programs here"), "{said}");
}

/// A machine with a data folder and a token, and nothing else.
fn machine(fleet: &Fleet, folder: &str, token: &str) -> Run {
    let (server, data) = (format!("http://{}", fleet.address()), fleet.place.path().join(folder).display().to_string());
    let mut command = fleet.place.fermi(["agent", "--server", &server, "--name", "gn6", "--data-dir", &data]);
    Run::start(command.env("FERMI_TOKEN", token).env("FERMI_STATE_DIR", fleet.place.path().join("machine")))
}

fn gone(machine: Run) {
    machine.signal(libc::SIGTERM);
    machine.ended();
}

#[test]
fn a_join_token_takes_no_name_of_another_and_a_revoked_one_stays_revoked() {
    let fleet = Fleet::server();
    let join = || {
        let made = fleet.typed("owner", &["env", "join", "--uses", "9", "--json"]).expect(0).out();
        serde_json::from_str::<Value>(&made).unwrap()["token"].as_str().unwrap().to_owned()
    };
    let old = join();
    let first = machine(&fleet, "first", &old);
    fleet.environment_is("gn6", "running");
    gone(first);
    let second = machine(&fleet, "second", &old);
    second.says("fermi env replace gn6");
    fleet.typed("owner", &["env", "replace", "gn6"]).expect(0);
    fleet.environment_is("gn6", "running");
    // The first one's credential is worth nothing now, nor is its name without one.
    fleet.typed("owner", &["env", "revoke", "gn6"]).expect(0);
    second.says("was revoked");
    gone(second);
    fleet.environment_is("gn6", "offline");
    fleet.typed("owner", &["env", "delete", "gn6"]).expect(0);
    let third = machine(&fleet, "third", &old);
    third.says("was revoked");
    gone(third);
    let new = machine(&fleet, "third", &join());
    fleet.environment_is("gn6", "running");
    gone(new);
}
