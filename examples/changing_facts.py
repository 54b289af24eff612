"""Facts that change: a key has one current value, and every value that it has had."""

import vestig

with vestig.open(":memory:") as store:
    for day, city in (("2024-01-01", "Porto"), ("2025-06-01", "Lisbon"), ("2026-02-01", "Faro")):
        store.commit(f"Maria lives in {city}.", key="maria.city", t_valid=day)
    store.commit("The theme of the site is dark.", key="site.theme")

    print("keys:", store.keys())
    print("now:", store.get("maria.city").content)
    print("in 2024:", store.get("maria.city", valid_at="2024-07-01").content)
    for version in store.history("maria.city"):
        print(f"{version.t_valid:%Y-%m-%d}", version.status.value, version.content)

    # what is older than the current value changes nothing, and is history at once
    late = store.commit("Maria lives in Braga.", key="maria.city", t_valid="2024-09-01")
    print("still:", store.get("maria.city").content, "|", late.warnings[0].split(";")[0])

    # a text without a key: replaced by hand
    old = store.commit("Deploys run on Fridays.")
    assert old.memory_id is not None  # None where a text is refused
    new = store.update(old.memory_id, "Deploys run on Mondays.")
    print([one.content for one in store.history(new.memory_id)])
