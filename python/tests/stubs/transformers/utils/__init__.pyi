from . import logging as logging
