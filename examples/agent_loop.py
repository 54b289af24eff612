"""An agent's loop: recall before the model answers, remember what was said after."""

import vestig


def model(prompt: str) -> str:
    """Stands for your model."""
    return "Use port 5433." if "5433" in prompt else "I do not know."


def turn(store: vestig.Vestig, session: str, number: int, said: str) -> str:
    """One turn of a conversation."""
    known = store.recall(said, exclude_session_ids=[session], context=True, budget=500)
    block = known.context.text if known.context else ""
    answer = model(f"{block}\n\nUser: {said}")
    for place, (role, text) in enumerate([("user", said), ("assistant", answer)]):
        # the place makes a retry of the turn the same turn
        store.commit(text, role=role, session_id=session, sequence=2 * number + place)
    return answer


with vestig.open(":memory:") as memory:
    memory.commit("The staging database listens on port 5433.")
    for at, question in enumerate(
        ["Which port does the staging database listen on?", "What did the auditors say?"]
    ):
        print(question, "→", turn(memory, "monday", at, question))
    print(memory.count(session_ids="monday"), "turns of monday are remembered")
