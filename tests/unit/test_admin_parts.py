"""The pieces that pages are made of."""

from pregon.edges.admin.rendering import environment


def test_an_empty_place_is_drawn_with_and_without_more_to_say() -> None:
    begin = '{% import "parts.html" as parts %}'
    alone = begin + '{{ parts.empty("Nothing fails", "Every push gets through.", "good") }}'
    taught = begin + '{% call parts.empty("No topics yet", "Publish:") %}<pre>pregon publish</pre>{% endcall %}'

    drawn = [environment().from_string(one).render() for one in (alone, taught)]

    assert "<h2>Nothing fails</h2><p>Every push gets through.</p></div>" in drawn[0]
    assert "<pre>pregon publish</pre></div>" in drawn[1]
