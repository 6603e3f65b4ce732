# ruff: noqa: E501
"""Queries that were written after `words.txt` was complete, for kinds of servers drawn from a list of public ones.

No word was added to the search because of them. They say how good it is where nobody could have tuned it.
"""

from __future__ import annotations

# server: (name, what it does, what it takes, how it is asked for in English, and in Japanese)
LATER: dict[str, list[tuple[str, str, str, str, str]]] = {
    "n8n": [
        ("list_workflows", "List all workflows of the instance, with whether they are active.", "limit cursor", "which automations exist in n8n", "ワークフローを一覧表示する"),
        ("activate_workflow", "Activate a workflow, so that its triggers start it.", "id", "turn on a workflow", "ワークフローを有効にする"),
        ("get_execution", "Get one execution of a workflow, with the data of each node.", "id", "details of a workflow run", "実行結果の詳細を見る"),
        ("list_executions", "List past executions of workflows, optionally by status.", "state limit", "failed workflow runs of today", "失敗した実行の履歴"),
        ("run_webhook", "Call the webhook of a workflow with a payload.", "id body", "trigger workflow via webhook", "Webhook を呼び出す"),
        ("delete_workflow", "Delete a workflow for good.", "id", "remove an n8n workflow", "ワークフローを削除"),
    ],
    "nextcloud": [
        ("create_note", "Create a note in the Notes app.", "title body", "write down a new note", "ノートを新規作成"),
        ("append_to_note", "Append text to the end of an existing note.", "id body", "add a line to my note", "メモに追記する"),
        ("share_file", "Create a share of a file or folder with a user, or a public link.", "path user", "give Anna access to a folder", "フォルダを共有する"),
        ("list_deck_boards", "List the boards of the Deck app.", "", "kanban boards in nextcloud", "Deck のボード一覧"),
        ("create_contact", "Create a contact in an address book.", "title user", "save a phone number in the address book", "連絡先を登録"),
        ("get_recipe", "Get a recipe of the Cookbook app with ingredients and steps.", "id", "how do I cook this dish", "レシピの材料を確認"),
        ("import_recipe", "Import a recipe from a website.", "query", "save a recipe from a url", "ウェブサイトからレシピを取り込む"),
    ],
    "sonarqube": [
        ("get_quality_gate", "Get the status of the quality gate of a project.", "id", "did the project pass its quality gate", "品質ゲートの結果を確認"),
        ("list_hotspots", "List security hotspots that need to be reviewed.", "id state limit", "security problems found in the code", "セキュリティホットスポットを一覧"),
        ("get_coverage", "Get the test coverage of a project, file by file.", "id path", "how much of the code is covered by tests", "テストカバレッジを取得"),
        ("mark_false_positive", "Mark a finding as a false positive.", "id body", "dismiss a finding that is not a real bug", "指摘を誤検知にする"),
        ("get_duplications", "Get duplicated blocks of code in a file.", "id path", "find copy-pasted code", "重複コードを探す"),
        ("show_rule", "Show what a rule checks, and how to fix its findings.", "id", "explain sonar rule S1234", "ルールの説明を見る"),
    ],
    "trading": [
        ("get_holdings", "Get the securities in the portfolio with quantity, average price and profit.", "", "what stocks do I own", "保有株の一覧"),
        ("place_order", "Place an order to buy or sell a security.", "id number state", "buy 10 shares of a company", "株を買い注文する"),
        ("cancel_order", "Cancel an order that is still open.", "id", "withdraw my pending order", "注文を取り消す"),
        ("get_quote", "Get the last price, volume and change of a security.", "id", "current share price", "現在の株価を取得"),
        ("get_historical_data", "Get past prices of a security as candles.", "id time", "price chart of the last year", "過去の価格データ"),
        ("get_margins", "Get the funds and margins of the account.", "", "how much cash is available for trading", "証拠金の残高を確認"),
        ("create_alert", "Create an alert on the price of a security.", "id number", "tell me when the price drops below 100", "価格アラートを設定"),
    ],
    "linkedin": [
        ("get_person_profile", "Get the profile of a person with experience and education.", "user", "look up someone's career history", "プロフィールを取得する"),
        ("search_jobs", "Search job postings by keyword and location.", "query limit", "find open positions for data engineers in Berlin", "求人を検索"),
        ("get_company_posts", "Get recent posts from the feed of a company.", "id limit", "what has the company posted lately", "会社の最近の投稿を見る"),
        ("connect_with_person", "Send a connection request to a person, with an optional note.", "user body", "add someone to my network", "つながり申請を送る"),
        ("get_inbox", "List the latest conversations of the inbox.", "limit", "my linkedin messages", "受信したメッセージを確認"),
    ],
    "budget": [
        ("get_accounts", "List all accounts with their balances.", "", "balance of my bank accounts", "口座の残高一覧"),
        ("add_transaction", "Add a transaction to an account.", "id number title time", "record that I spent 20 euros on groceries", "支出を記録する"),
        ("set_budget_amount", "Set the budgeted amount of a category for a month.", "id number time", "allow 300 for food in March", "カテゴリの予算を設定"),
        ("spending_by_category", "Break down spending by category for a range of time.", "time", "where did my money go last month", "カテゴリ別の支出を集計"),
        ("get_payees", "List payees.", "", "list everyone I have paid", "支払先の一覧"),
        ("reconcile_account", "Reconcile an account with the balance of a statement.", "id number", "match the account with the bank statement", "口座の残高を照合する"),
    ],
    "scene": [
        ("create_object", "Create an object in the scene from a primitive or a prefab.", "title", "put a cube into the scene", "シーンにオブジェクトを追加"),
        ("set_material", "Set the material or color of an object.", "id title", "paint the object red", "オブジェクトの色を変える"),
        ("get_hierarchy", "Get the hierarchy of the objects in the open scene.", "", "tree of all game objects", "シーンの階層を取得"),
        ("run_play_mode_tests", "Run the tests of the play mode and return their results.", "query", "execute unity tests", "テストを実行する"),
        ("read_console", "Read errors and warnings from the console of the editor.", "limit", "compile errors in the editor", "コンソールのエラーを確認"),
        ("take_screenshot", "Take a screenshot of the game view.", "path", "capture what the camera sees", "ゲーム画面のスクリーンショットを撮る"),
    ],
}  # fmt: skip
