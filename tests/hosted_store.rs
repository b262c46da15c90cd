//! The store that Fermi hosts for torch, with torch's own client: every operation, late readers, restarts, and programs
//! that open the port themselves.

use std::process::Command;

use crate::support::{Place, Run, script, sshd::free_port, torch_python};

fn torch(place: &Place, options: &[&str]) -> Command {
    let mut command = place.run(options);
    command.env("PYTHON_EXEC", torch_python()).env("GLOO_SOCKET_IFNAME", "lo");
    command
}

#[test]
fn torchs_client_finds_every_operation_and_late_readers_outlive_rank_0() {
    let place = Place::new();
    let ended = Run::whole(torch(&place, &["-n", "2", "--tee", "1"]).arg(script("store_client.py")).arg("1")).expect(0);
    let out = ended.out();
    for line in ["held: values", "held: waits", "held: queues", "held: newest", "held: prefixes", "rank 1 read on"] {
        assert!(out.contains(line), "'{line}' is not in\n{out}\n{}", ended.err());
    }
    assert_eq!(out.matches("reduced").count(), 2);
}

#[test]
fn a_client_alone_is_served_at_the_named_port_as_under_torchrun() {
    let place = Place::new();
    let port = free_port().to_string();
    let client = place.file(
        "client.py",
        "import os\n\
         from torch.distributed import TCPStore\n\
         store = TCPStore(os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']), is_master=False)\n\
         print('joined', store.add('n', 1))\n",
    );
    let ended = Run::whole(torch(&place, &["--master_port", &port, "--nnodes", "1"]).arg(client)).expect(0);
    assert_eq!(ended.out(), "joined 1\n");
}

/// Counts in a store that must be empty at the start of each attempt, without torch: two commands of the protocol.
const COUNTS: &str = "\
import os, socket, struct, sys
def text(b): return struct.pack('<Q', len(b)) + b
s = socket.create_connection((os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])))
s.sendall(b'\\0' + struct.pack('<I', 0x3C85F7CE) + b'\\4' + text(b'/n') + struct.pack('<q', 1))
print('count', struct.unpack('<q', s.recv(8))[0], os.environ['TORCHELASTIC_USE_AGENT_STORE'], flush=True)
sys.exit(int(os.environ['FERMI_ATTEMPT']) < 3)
";

#[test]
fn every_attempt_finds_an_empty_store() {
    let place = Place::new();
    let counts = place.file("counts.py", COUNTS);
    let ended = Run::whole(place.run(["--max-restarts", "2"]).arg(counts)).expect(0);
    assert_eq!(ended.out(), "count 1 True\n".repeat(3));
}

#[test]
fn agents_of_one_machine_share_the_store_of_the_first() {
    let place = Place::new();
    let endpoint = format!("localhost:{}", free_port());
    let meets = place.file(
        "meets.py",
        "import os, torch, torch.distributed as dist\n\
         dist.init_process_group('gloo')\n\
         t = torch.ones(1)\n\
         dist.all_reduce(t)\n\
         print('sum', t.item(), os.environ['TORCHELASTIC_USE_AGENT_STORE'], flush=True)\n\
         os._exit(0)\n",
    );
    let start = || {
        let options = ["--nnodes", "2", "-n", "1", "--rdzv-endpoint", &endpoint, "--rdzv-id", "x", "--tee", "1"];
        Run::start(torch(&place, &options).arg(&meets))
    };
    for run in [start(), start()] {
        let ended = run.ended().expect(0);
        assert!(ended.out().contains("sum 2.0 True"), "{}", ended.out());
    }
}

/// Opens the master's port itself, as a server of its own kind.
const OPENS: &str = "\
import os, socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('0.0.0.0', int(os.environ['MASTER_PORT'])))
s.listen()
print('mine', os.environ['TORCHELASTIC_USE_AGENT_STORE'])
";

#[test]
fn a_program_that_opens_the_port_itself_has_it_and_a_script_gets_it_on_request() {
    let place = Place::new();
    let opens = place.file("opens.py", OPENS);
    let python = crate::support::python();
    let ended = Run::whole(place.run(["--no-python"]).arg(python).arg(&opens)).expect(0);
    assert_eq!(ended.out(), "mine False\n");
    let ended = Run::whole(place.run(["--store", "rank0"]).arg(&opens)).expect(0);
    assert_eq!(ended.out(), "mine False\n");
    // Its own words say it, unless they do not.
    let ended = Run::whole(&mut place.run([&opens])).expect(0);
    assert_eq!(ended.out(), "mine False\n");
    let hides = place.file("hides.py", OPENS.replace("s.bind((", "getattr(s, 'bind')(("));
    let ended = Run::whole(&mut place.run([&hides])).expect(1);
    ended.says(&["store=rank0"]);
    let refused = Run::whole(place.run(["--store", "fermi", "--framework", "jax"]).arg(&opens)).expect(2);
    refused.says(&["--store fermi does not go with jax"]);
}

#[test]
fn what_a_stranger_sends_to_the_store_harms_no_rank() {
    let place = Place::new();
    let hostile = place.file(
        "hostile.py",
        "import os, socket, struct\n\
         where = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))\n\
         idle = [socket.create_connection(where) for _ in range(200)]\n\
         for junk in (b'GET / HTTP/1.1\\r\\n\\r\\n', b'\\0' * 64, b'\\xff' * 4096, b'\\0\\xce\\xf7\\x85\\x3c\\x01' + b'\\xff' * 8):\n\
         \x20   s = socket.create_connection(where); s.sendall(junk); s.settimeout(20)\n\
         \x20   try: assert s.recv(1) == b''\n\
         \x20   except ConnectionResetError: pass\n\
         s = socket.create_connection(where)\n\
         s.sendall(b'\\0' + struct.pack('<I', 0x3C85F7CE) + b'\\7')\n\
         print('keys', struct.unpack('<q', s.recv(8))[0])\n",
    );
    assert_eq!(Run::whole(&mut place.run([hostile])).expect(0).out(), "keys 0\n");
}
