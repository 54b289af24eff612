"""Many users in one store: a view for each writes into a scope and finds what is of it."""

import vestig

with vestig.open(":memory:") as store:
    ada = store.scoped("user/ada", author="Ada")
    bo = store.scoped("user/bo", author="Bo")
    ada.commit("I live in Porto.", key="city")
    bo.commit("I live in Bergen.", key="city")
    ada.commit("I am allergic to nuts.")

    print("Ada:", ada.get("city").content, "| Bo:", bo.get("city").content)
    print("Bo asks about nuts:", len(bo.recall("who is allergic to nuts?")), "results")
    print("all users:", store.count(where={"scope_prefix": "user"}), "memories")

    # a view takes no other scope; who the user is comes from the program, not from a model
    try:
        bo.recall("which allergies are there?", scope="user/ada")
    except vestig.ValidationError as error:
        print("refused:", error.field)

    # nor an id of another scope: it is not found, as one that nothing has
    try:
        bo.forget(ada.get("city").id)
    except vestig.NotFoundError:
        print("not found:", "the memory of Ada")

    # what one user brought goes at once
    report = store.forget(where={"scope": "user/ada"})
    print(len(report.memory_ids), "memories of Ada forgotten,", store.count(), "left")
