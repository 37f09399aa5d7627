from tools.check_site import broken_links


def test_a_link_to_no_page_or_no_anchor_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top">x</h1><a href="#top">.</a><a href="b.html#end">.</a>'
        '<a href="b.html#gone">.</a><a href="c.html">.</a><img src="d.png">'
        '<a href="https://example.org/none">.</a>'
    )
    (tmp_path / "b.html").write_text('<p id="end"></p><a href="a.html">.</a>')
    (tmp_path / "d.png").write_bytes(b"")
    assert broken_links(tmp_path) == ["a.html: b.html#gone", "a.html: c.html"]
