"""PyYAML's parser, with the tabs that YAML allows and PyYAML does not."""

from __future__ import annotations

from typing import Any

from yaml.events import Event
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner, ScannerError

_ENDS = "\0\r\n\x85\u2028\u2029"


class Events(Reader, Scanner, Parser):
    """The events of a text, in order. A tab is a space wherever it does not indent."""

    def __init__(self, text: str) -> None:
        """Begins at the start of the text."""
        # PyYAML forgets the line break of a block text at the end of a file that has none.
        Reader.__init__(self, text if text.endswith("\n") else text + "\n")
        Scanner.__init__(self)
        Parser.__init__(self)

    def next(self) -> Event:
        """Gives the next event; the last one is the end of the stream."""
        event: Event = self.get_event()
        return event

    def scan_to_next_token(self) -> None:
        """Goes on to the next token, over tabs between tokens and at the end of lines."""
        if self.peek() == "#" and self.column and self.buffer[self.pointer - 1] not in (" ", "\t"):
            raise ScannerError(None, None, "a comment needs a blank before it", self.get_mark())
        super().scan_to_next_token()
        while self.peek() == "\t" and self._is_no_indentation():
            self.forward(self._blanks())
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: Any, start_mark: Any) -> Any:
        """Reads the blanks within or behind a bare word."""
        blanks = self._blanks()
        text = self.prefix(blanks)
        if "\t" in text and self.peek(blanks) not in _ENDS:
            self.forward(blanks)
            return [text]
        if "\t" in text:
            self.forward(blanks)
        return super().scan_plain_spaces(indent, start_mark)

    def _is_no_indentation(self) -> bool:
        line = self.buffer[self.pointer - self.column : self.pointer]
        behind = self.peek(self._blanks())
        if line.strip() or behind in _ENDS or behind == "#":
            return True
        return self.column >= self.indent if self.flow_level else not self.allow_simple_key

    def _blanks(self) -> int:
        length = 0
        while self.peek(length) in (" ", "\t"):
            length += 1
        return length
