# ruff: noqa: E501
"""Tools and hard queries that were written, by the same hand, before the words of the search were widened.

No word was added to the search because of one of these queries until November 2026, when somebody looked at what they
missed to find out how queries fail; `later.py` has queries that nobody looked at.
"""

from __future__ import annotations

# server: (name, what it does, what it takes, how somebody asks for it)
UNSEEN: dict[str, list[tuple[str, str, str, str]]] = {
    "jira": [
        ("create_ticket", "Create a ticket in a Jira project.", "title body labels", "report a defect in jira"),
        ("transition_ticket", "Move a ticket to another status of its workflow.", "id state", "set the ticket to in progress"),
        ("assign_ticket", "Assign a ticket to a person.", "id user", "give this ticket to Maria"),
        ("list_sprints", "List the sprints of a board.", "id state", "which sprints does the board have"),
        ("add_worklog", "Log time spent on a ticket.", "id time", "book two hours on the ticket"),
        ("link_tickets", "Link two tickets with each other.", "id ref", "mark this ticket as blocked by another"),
        ("search_jql", "Search tickets with JQL.", "query limit", "find all tickets that are overdue"),
        ("get_board", "Get a board with its columns.", "id", "show me the scrum board"),
    ],
    "stripe": [
        ("create_customer", "Create a customer in Stripe.", "title user", "add a new paying customer"),
        ("create_payment_link", "Create a link with which a customer can pay.", "title number", "I need a URL where people can pay"),
        ("list_charges", "List charges, newest first.", "limit cursor", "what did we charge lately"),
        ("refund_charge", "Refund a charge in whole or in part.", "id number", "give the customer his money back"),
        ("cancel_subscription", "Cancel a subscription at the end of its period.", "id", "stop a subscription"),
        ("retrieve_balance", "Retrieve the present balance of the account.", "", "how much money is in the account"),
        ("update_price", "Update the price of a product.", "id number", "make the product more expensive"),
        ("list_disputes", "List disputes of payments.", "state", "payments that customers complained about"),
    ],
    "home": [
        ("turn_on_light", "Turn a light on.", "id", "switch the lamp on"),
        ("set_temperature", "Set the temperature of a thermostat.", "id number", "make it warmer in the living room"),
        ("lock_door", "Lock a door.", "id", "lock up the front door"),
        ("list_devices", "List all devices in the home.", "", "what devices do I have at home"),
        ("play_music", "Play music on a speaker.", "id title", "put on some jazz"),
        ("get_energy_usage", "Get the energy usage of a day.", "time", "how much electricity did we use yesterday"),
        ("start_vacuum", "Start the vacuum cleaner.", "id", "vacuum the floor"),
        ("create_automation", "Create an automation that runs on a trigger.", "title body", "every evening close the blinds automatically"),
    ],
    "maps": [
        ("geocode_address", "Get the coordinates of an address.", "query", "where exactly is this address, latitude and longitude"),
        ("get_directions", "Get directions from one place to another.", "query ref", "how do I drive to the airport"),
        ("search_places", "Search places near a location.", "query limit", "restaurants around here"),
        ("place_details", "Get opening hours, rating and phone number of a place.", "id", "is the shop open on sunday"),
        ("distance_matrix", "Compute travel time and distance between many places.", "query", "how far are these cities apart"),
        ("get_elevation", "Get the elevation of a location.", "query", "how high is that mountain"),
    ],
    "docs": [
        ("create_document", "Create a new document.", "title body", "start a blank document"),
        ("insert_text", "Insert text at a position of a document.", "id body", "add a paragraph to the document"),
        ("export_pdf", "Export a document as PDF.", "id", "save the document as a PDF"),
        ("list_revisions", "List the revisions of a document.", "id", "earlier versions of a document"),
        ("restore_revision", "Restore a document to an earlier revision.", "id ref", "go back to yesterday's version"),
        ("add_suggestion", "Add a suggestion to a document.", "id body", "propose a change in the text"),
        ("translate_document", "Translate a document into another language.", "id title", "turn this document into French"),
        ("count_words", "Count the words of a document.", "id", "how long is the document"),
    ],
}  # fmt: skip
JAPANESE = {
    "mcp__jira__create_ticket": "Jiraで新しいチケットを起票する",
    "mcp__jira__assign_ticket": "チケットの担当者を決める",
    "mcp__jira__search_jql": "チケットを検索する",
    "mcp__stripe__create_customer": "顧客を登録する",
    "mcp__stripe__refund_charge": "支払いを返金する",
    "mcp__stripe__cancel_subscription": "サブスクリプションを解約する",
    "mcp__stripe__retrieve_balance": "口座の残高を確認する",
    "mcp__home__turn_on_light": "電気をつける",
    "mcp__home__set_temperature": "温度を設定する",
    "mcp__home__lock_door": "ドアに鍵をかける",
    "mcp__home__list_devices": "デバイスの一覧を表示する",
    "mcp__home__play_music": "音楽を再生する",
    "mcp__maps__geocode_address": "住所から座標を求める",
    "mcp__maps__get_directions": "目的地までの経路を調べる",
    "mcp__maps__search_places": "近くのレストランを探す",
    "mcp__docs__create_document": "新しい文書を作成する",
    "mcp__docs__export_pdf": "文書をPDFに書き出す",
    "mcp__docs__translate_document": "ドキュメントを翻訳する",
    "mcp__docs__count_words": "文字数を数える",
    "mcp__docs__list_revisions": "文書の変更履歴を見る",
}
