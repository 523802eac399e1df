"""
Dialect: the ``profiler`` section of acl.json (cann_msprof.md 1.6; pyacl_prof.md 11).

The keys are those of `drynpu.options.profiling_options` under the rules of the surface ``ACL_JSON``; what is special
here is the document around them: a switch that is off is no error, and the file has a size limit.
"""

from __future__ import annotations

from drynpu.options.acl_json._parse import SECTION, AclJson, parse, parse_document, parse_file
from drynpu.options.profiling_options import ACL_JSON

__all__ = ["ACL_JSON", "SECTION", "AclJson", "parse", "parse_document", "parse_file"]
