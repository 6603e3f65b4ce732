# ruff: noqa: E501
"""A third set that was written before the search was tried on it: servers that no other set has, in both languages.

Every tool of `ENGLISH` is asked for in English and in Japanese, every one of `JAPANESE` in Japanese, twice. Half of the
queries are in the manner of a model (key words), half in the manner of a person who says what should happen. None was
changed after the search had been tried. The same hand wrote `words.txt` an hour later, so they are not independent of
it; those in `later.py` were written after it.
"""

from __future__ import annotations

# server: (name, what it does, what it takes, how it is asked for in English, and in Japanese)
ENGLISH: dict[str, list[tuple[str, str, str, str, str]]] = {
    "zendesk": [
        ("get_ticket", "Retrieve a support ticket by its id, including requester, status and custom fields.", "id", "open support ticket 4711", "サポートチケットの内容を見る"),
        ("get_ticket_comments", "Retrieve the whole thread of comments on a support ticket.", "id cursor", "read what was said on a support ticket", "チケットのコメントをすべて取得"),
        ("create_ticket_comment", "Add a public reply or an internal note to a ticket.", "id body", "answer the customer on their ticket", "チケットに返信する"),
        ("list_macros", "List the macros that are available to agents.", "limit", "zendesk macros list", "マクロの一覧"),
        ("get_satisfaction_ratings", "Get satisfaction ratings that customers gave to solved tickets.", "limit time", "how happy were customers with our support", "顧客満足度の評価を取得"),
        ("search_help_center", "Search articles of the help center.", "query limit", "find a knowledge base article about password reset", "ヘルプセンターの記事を検索"),
    ],
    "shopify": [
        ("list_products", "List products of the store with their variants and prices.", "limit cursor", "what do we sell in the shop", "商品一覧を表示"),
        ("update_inventory_level", "Set the available quantity of an inventory item at a location.", "id number", "adjust stock quantity of a product variant", "在庫数を変更する"),
        ("list_orders", "List orders, optionally filtered by fulfillment or payment status.", "state limit cursor", "orders that have not been shipped yet", "未発送の注文を確認"),
        ("create_discount_code", "Create a discount code that customers enter at checkout.", "title number time", "make a coupon for 10% off", "割引コードを作成"),
        ("fulfill_order", "Mark the line items of an order as fulfilled and attach a tracking number.", "id ref", "mark order as shipped with tracking", "注文を発送済みにする"),
    ],
    "gitlab": [
        ("list_merge_requests", "List merge requests of a project.", "repo state limit", "open merge requests assigned to me", "マージリクエストの一覧"),
        ("create_merge_request_thread", "Start a new discussion thread on the diff of a merge request.", "repo number body", "comment on a line of the diff", "差分の行にコメントする"),
        ("get_pipeline_jobs", "List all jobs of a CI pipeline with their status and duration.", "repo id", "which CI jobs failed in the pipeline", "パイプラインのジョブの状態を見る"),
        ("get_job_trace", "Get the output of a CI job as plain text.", "repo id", "show the log of the failed build", "CI ジョブのログを取得"),
        ("retry_pipeline", "Retry the failed jobs of a pipeline.", "repo id", "rerun failed pipeline", "パイプラインを再実行"),
        ("list_milestones", "List the milestones of a project.", "repo state", "project milestones", "マイルストーンを一覧表示"),
    ],
    "datadog": [
        ("search_logs", "Search log events with a query over a time range.", "query time limit", "search error logs of the checkout service in the last hour", "エラーログを検索"),
        ("list_monitors", "List monitors and their present alert status.", "state limit", "which alerts are firing", "アラート中のモニターを確認"),
        ("mute_monitor", "Mute a monitor until a given time.", "id time", "silence this alert for two hours", "モニターの通知を止める"),
        ("get_metrics", "Query timeseries of a metric.", "query time", "CPU usage over the last day", "メトリクスの推移を取得"),
        ("list_traces", "List APM traces that match a query.", "query time limit", "find slow traces of an endpoint", "遅いトレースを探す"),
        ("create_downtime", "Schedule a downtime so that no alerts are sent during maintenance.", "title time", "schedule maintenance window", "メンテナンスのダウンタイムを設定"),
    ],
    "mongodb": [
        ("aggregate", "Run an aggregation pipeline against a collection.", "title body", "group orders by month in mongo", "コレクションを集計する"),
        ("insert_many", "Insert an array of documents into a collection.", "title body", "add documents to a mongodb collection", "ドキュメントを挿入"),
        ("collection_indexes", "Describe the indexes of a collection.", "title", "what indexes exist on this collection", "インデックスを確認する"),
        ("create_index", "Create an index on a collection to speed up queries.", "title body", "add an index on the email field", "インデックスを作成"),
        ("drop_collection", "Remove a collection and its indexes from the database.", "title", "delete a whole collection", "コレクションを削除する"),
        ("list_databases", "List all databases of the connected cluster.", "", "show databases in the cluster", "データベースの一覧を見る"),
    ],
    "zoom": [
        ("create_meeting", "Create a Zoom meeting and return its join URL.", "title time", "set up a video call for tomorrow at 10", "Zoom ミーティングを作成"),
        ("list_recordings", "List cloud recordings of meetings.", "time limit", "recordings of last week's calls", "録画の一覧を取得"),
        ("get_meeting_transcript", "Download the transcript of a recorded meeting.", "id", "what was said in the meeting, as text", "会議の文字起こしを取得"),
        ("delete_meeting", "Delete a scheduled meeting.", "id", "cancel the zoom call", "ミーティングをキャンセル"),
        ("list_participants", "List those who took part in a past meeting, with join and leave times.", "id", "who attended the meeting", "会議の参加者を確認"),
    ],
    "trello": [
        ("add_card_to_list", "Add a new card to a list of a board.", "title body id", "put a new card on the board", "カードを追加"),
        ("move_card", "Move a card to another list.", "id ref", "drag the card to Done", "カードを別のリストに移動"),
        ("get_my_cards", "Fetch all cards that are assigned to the present user.", "limit", "my assigned cards", "自分のカードを取得"),
        ("add_checklist_item", "Add an item to a checklist on a card.", "id title", "new checklist entry on a card", "チェックリストに項目を追加"),
        ("archive_card", "Archive a card, so that it is no longer shown on the board.", "id", "archive trello card", "カードをアーカイブ"),
        ("get_recent_activity", "Fetch the latest actions on a board.", "limit", "what happened on the board recently", "ボードの最近の動きを見る"),
    ],
    "tavily": [
        ("tavily_search", "Search the web for current information and return ranked results with snippets.", "query limit", "google something on the internet", "ウェブを検索する"),
        ("tavily_extract", "Extract the main content of one or more web pages.", "query", "get text of a web page from its url", "ウェブページの本文を抽出"),
        ("tavily_crawl", "Crawl a website from a starting URL and follow its links.", "query limit", "crawl documentation site", "サイトをクロールする"),
        ("tavily_map", "Make a map of the URLs of a website.", "query limit", "list all urls of a site (sitemap)", "サイトマップを作る"),
    ],
    "youtube": [
        ("search_videos", "Search videos by keyword.", "query limit", "find tutorial videos about rust", "動画を検索"),
        ("get_transcript", "Get the captions of a video as text.", "id", "subtitles of a youtube video", "動画の字幕を取得"),
        ("get_channel_stats", "Get subscriber count, views and number of videos of a channel.", "channel", "how many subscribers does the channel have", "チャンネルの登録者数を調べる"),
        ("list_playlist_items", "List the videos of a playlist.", "id limit", "videos in a playlist", "再生リストの動画一覧"),
        ("upload_video", "Upload a video file to the channel of the connected account.", "path title body", "publish a video", "動画をアップロード"),
    ],
    "terraform": [
        ("plan", "Show which changes would be made to the infrastructure.", "path", "preview infrastructure changes", "インフラの変更をプレビュー"),
        ("apply", "Create, change or destroy infrastructure so that it matches the configuration.", "path", "deploy the infrastructure", "構成を適用する"),
        ("get_provider_docs", "Fetch the documentation of a resource of a provider from the registry.", "query", "terraform registry docs for a resource", "プロバイダーのドキュメントを読む"),
        ("list_workspaces", "List the workspaces of an organization.", "limit", "show workspaces", "ワークスペースの一覧"),
        ("show_state", "Show the resources that are recorded in the state.", "path", "which resources are in terraform state", "ステートのリソースを表示"),
    ],
    "airtable": [
        ("list_bases", "List all bases that the token can see.", "", "what bases do I have", "ベースの一覧を取得"),
        ("list_records", "List records of a table, optionally filtered by a formula.", "id query limit", "rows in the table where status is late", "テーブルのレコードを取得"),
        ("update_records", "Update up to ten records of a table.", "id body", "change field values of records", "レコードを更新する"),
        ("create_field", "Create a new field in a table.", "id title", "add a column", "列を追加する"),
        ("describe_table", "Get the fields and views of a table.", "id", "columns and types of a table", "テーブルの構造を確認"),
        ("upload_attachment", "Upload a file into an attachment field of a record.", "id path", "attach a pdf to a record", "レコードにファイルを添付"),
    ],
}  # fmt: skip
# server: (name, what it does, what it takes, how it is asked for, and in other words)
JAPANESE: dict[str, list[tuple[str, str, str, str, str]]] = {
    "kintone": [
        ("add_records", "アプリに新しいレコードを登録します。", "id body", "レコードの追加", "アプリにデータを入れる"),
        ("get_app_fields", "アプリのフィールド設定を取得します。", "id", "フィールドの一覧", "アプリの項目を調べる"),
        ("update_statuses", "レコードのプロセス管理のステータスを進めます。", "id state", "ステータスの更新", "承認待ちのレコードを次に進める"),
        ("search_apps", "名前でアプリを検索します。", "query", "アプリを探す", "顧客管理アプリはどれか"),
    ],
    "shukuhaku": [
        ("kushitsu_kensaku", "指定した日程と人数で空室のある宿を検索します。", "time number", "空室検索", "来週泊まれるホテルを探したい"),
        ("yoyaku_toroku", "宿泊の予約を登録します。", "id time user", "宿の予約", "この旅館を二名で予約して"),
        ("yoyaku_torikeshi", "宿泊の予約を取り消します。取消料がかかる場合は金額を返します。", "id", "予約のキャンセル", "ホテルの予約をやめる"),
        ("kuchikomi_ichiran", "宿に対する口コミを新しい順に返します。", "id limit", "宿の口コミ", "このホテルの評判は"),
    ],
    "norikae": [
        ("keiro_kensaku", "出発駅から到着駅までの経路と所要時間、運賃を検索します。", "query time", "電車の乗り換え検索", "東京から京都までの行き方"),
        ("jikokuhyo_shutoku", "駅の時刻表を取得します。", "id time", "駅の時刻表", "次の電車は何時か"),
        ("unko_joho", "路線の運行情報(遅延、運休)を取得します。", "id", "遅延情報の確認", "中央線は止まっているか"),
    ],
    "keihi": [
        ("shinsei_sakusei", "経費精算の申請を作成します。", "title number", "経費を申請する", "交通費の精算をしたい"),
        ("shinsei_shonin", "提出された経費申請を承認または差し戻します。", "id state", "経費申請の承認", "部下の申請にオーケーを出す"),
        ("ryoshusho_yomitori", "領収書の画像から日付と金額、支払先を読み取ります。", "path", "領収書を読み取る", "レシートの写真から金額を出す"),
        ("kingaku_shukei", "部門ごとの経費の合計を月別に集計します。", "time", "部門別の経費集計", "先月いくら使ったか"),
    ],
}  # fmt: skip
