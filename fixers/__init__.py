"""Verbs that turn an intention into text edits; they know no rule.

Every verb takes the source, the tree and the nodes it works on and returns a tuple of edits (offsets into
``Source.text``, not overlapping, in no particular order), or None when it refuses; its docstring says when. The edits
of several verbs for one finding are simply added up: ``(*imported.edits, *added)``.

=====================  ================================================================================================
``arguments``          ``add_keyword``, ``set_keyword``, ``prepend_argument``, ``remove_argument``, ``move_keyword``,
                       ``rename_keyword``
``calls``              ``cuda_to_device`` (``.cuda(…)`` → ``.to(device, …)``), ``move_into_factory``, ``rename_method``
``expressions``        ``replace_expression``, ``append_to_expression`` (``.item()``), ``wrap_expression``
``statements``         ``insert_before``, ``insert_after``, ``insert_at_body_start``, ``replace_statement``,
                       ``assign_result``, ``add_decorator``, ``wrap_in_block``
``modes``              ``surround_with_mode``, ``insert_before_each_exit``, ``fresh_name``
``tags``               ``add_prefix``, ``replace_in_tag``, ``set_literal``, ``add_field``
``device_definition``  ``define_device``: the one device of a module
``imports``            ``add_import``: an ``Import`` with its edits and the name to use
``apply``              ``apply_round``: many fixes over one text; ``Composer``: several rounds told as one list of edits
=====================  ================================================================================================

``layout``, ``blocks`` and ``strings`` hold what the verbs share: where arguments, commas, rows, indentations and
quotes lie.
"""
