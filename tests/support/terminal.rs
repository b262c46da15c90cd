//! A pseudo-terminal at which a test sits like a person.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};

use super::capture::Capture;
use super::eventually;

/// A terminal with a program on it.
pub struct Terminal {
    keyboard: File,
    /// Held open so that its modes can be looked at when the program is gone.
    screen_side: OwnedFd,
    seen: Capture,
    child: Child,
}

fn window(rows: u16, columns: u16) -> libc::winsize {
    libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Terminal {
    /// Starts the program in a session of its own whose terminal this is.
    pub fn start(command: &mut Command, rows: u16, columns: u16) -> Self {
        let (mut master, mut slave) = (0, 0);
        // SAFETY: openpty writes the two descriptors and reads the size.
        let done = unsafe {
            libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &window(rows, columns))
        };
        assert_eq!(done, 0, "no pseudo-terminal");
        // SAFETY: both are new and ours. The child must not inherit the master, or the end would never show.
        let (master, slave) = unsafe {
            libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
            libc::fcntl(slave, libc::F_SETFD, libc::FD_CLOEXEC);
            (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
        };
        command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave.try_clone().unwrap());
        // SAFETY: system calls only.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let seen = Capture::of(File::from(master.try_clone().unwrap()));
        Self { keyboard: File::from(master), screen_side: slave, seen, child }
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    pub fn resize(&self, rows: u16, columns: u16) {
        // SAFETY: the structure is read during the call only.
        unsafe { libc::ioctl(self.keyboard.as_raw_fd(), libc::TIOCSWINSZ, &window(rows, columns)) };
    }

    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.seen.so_far()).into_owned()
    }

    /// Waits until this text has appeared.
    pub fn shows(&self, text: &str) {
        eventually(&format!("'{text}' on the screen:\n{}", self.screen()), || {
            self.screen().contains(text).then_some(())
        });
    }

    pub fn ended(&mut self) -> ExitStatus {
        let child = &mut self.child;
        eventually("the end of the program on the terminal", || child.try_wait().unwrap())
    }

    /// Whether keys are echoed and lines are edited, as a shell leaves it.
    pub fn is_as_a_shell_leaves_it(&self) -> bool {
        let modes = nix::sys::termios::tcgetattr(&self.screen_side).unwrap();
        use nix::sys::termios::LocalFlags;
        modes.local_flags.contains(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG)
    }
}
