# test_pages.py - the page manager from Python
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
import pytest

import pagefold as pf

pytestmark = pytest.mark.usefixtures("runtime")

PROMPT = np.arange(100, 120)  # one page of 16 and 4 tokens of the next


def pool(**options) -> pf.PagePool:
    return pf.PagePool(**{"num_pages": 8, "page_size": 16, "max_requests": 4, "max_pages_per_request": 4, **options})


def row_pages(pages: pf.PagePool, row: int) -> list[int]:
    return [int(page) for page in pages.table()[row] if page >= 0]


def test_A47_a_second_request_reuses_all_but_the_last_token():
    pages = pool()
    row, hit = pages.admit(1, PROMPT)
    assert hit == 0 and len(row_pages(pages, row)) == 2
    pages.mark_computed(1, len(PROMPT))
    again, hit = pages.admit(2, PROMPT)
    assert 16 <= hit <= len(PROMPT) - 1
    assert row_pages(pages, again)[0] == row_pages(pages, row)[0]
    assert row_pages(pages, again)[1] != row_pages(pages, row)[1]
    pages.verify()


def test_A49_another_tenant_finds_nothing():
    pages = pool()
    pages.admit(1, PROMPT, salt="a")
    pages.mark_computed(1, len(PROMPT))
    assert pages.admit(2, PROMPT, salt="b")[1] == 0
    assert pages.admit(3, PROMPT, salt="a")[1] > 0
    pages.verify()


def test_A55_a_fork_copies_the_partial_page_before_it_is_written():
    pages = pool()
    parent, _ = pages.admit(1, PROMPT)
    pages.mark_computed(1, len(PROMPT))
    child = pages.fork(1, 2)
    assert row_pages(pages, child) == row_pages(pages, parent)
    pages.drain()
    pages.append(2, [7])
    pages.reserve(2, len(PROMPT) + 1)
    changes = pages.drain()
    mine, theirs = row_pages(pages, child), row_pages(pages, parent)
    assert mine[0] == theirs[0] and mine[1] != theirs[1]
    assert changes.copies.tolist() == [[theirs[1], mine[1], 4]]
    assert [child, 1, mine[1]] in changes.updates.tolist()
    pages.verify()


def test_A56_a_request_that_does_not_fit_changes_nothing():
    pages = pool(num_pages=3)
    pages.admit(1, PROMPT)
    before, table = pages.available, pages.table()
    with pytest.raises(pf.PagefoldError):
        pages.admit(2, np.arange(40))
    assert pages.available == before and (pages.table() == table).all()
    pages.abort(1)
    assert pages.available == 3
    pages.verify()


def test_the_updates_since_the_last_drain_rebuild_the_table():
    pages = pool()
    mirror = np.full(pages.shape, -1, np.int32)
    for step in (
        lambda: pages.admit(1, PROMPT),
        lambda: pages.mark_computed(1, 20),
        lambda: pages.fork(1, 2),
        lambda: (pages.append(1, np.arange(30)), pages.reserve(1, 50)),
        lambda: pages.finish(2),
        lambda: pages.abort(1),
    ):
        step()
        for row, column, page in pages.drain().updates:
            mirror[row, column] = page
        assert (mirror == pages.table()).all()


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="page"):
        pool(page_size=0)
    pages = pool()
    with pytest.raises(pf.PagefoldError, match="5"):
        pages.reserve(5, 1)
    with pytest.raises(pf.PagefoldError):
        pages.admit(1, [3, -1])
