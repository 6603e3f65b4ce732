# ruff: noqa: E501
"""Tools in the manner of everyday MCP servers, each with words in which a model may ask for it.

The paraphrases were written from what a person wants to do, before the search was tried on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SCHEMAS: dict[str, dict[str, Any]] = {
    "owner": {
        "type": "string",
        "description": "The account owner of the repository. The name is not case sensitive.",
    },
    "repo": {"type": "string", "description": "The name of the repository without the .git extension."},
    "id": {"type": "string", "description": "The identifier of the object, as returned by an earlier call."},
    "number": {
        "type": "integer",
        "description": "The number that identifies it within its repository.",
        "minimum": 1,
    },
    "title": {"type": "string", "description": "A short title, in one line."},
    "body": {
        "type": "string",
        "description": "The contents, in Markdown. Mentions and references are resolved.",
    },
    "path": {
        "type": "string",
        "description": "The path, absolute or relative to the first allowed directory.",
    },
    "query": {"type": "string", "description": "What to look for, in the query syntax of the service."},
    "limit": {
        "type": "integer",
        "description": "The most results to return in one page (default 30).",
        "maximum": 100,
    },
    "cursor": {
        "type": "string",
        "description": "The cursor of the page to go on from, as the last answer gave it.",
    },
    "state": {
        "type": "string",
        "enum": ["open", "closed", "all"],
        "description": "Filter by state; default is open.",
    },
    "labels": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Names of labels, all of which must match.",
    },
    "channel": {"type": "string", "description": "The id of the channel, such as C0123456789, not its name."},
    "user": {"type": "string", "description": "The id or login of the person, without the at sign."},
    "time": {"type": "string", "description": "A date and time in RFC 3339, with its offset from UTC."},
    "ref": {
        "type": "string",
        "description": "What identifies the element on the page, from the last snapshot.",
    },
    "options": {
        "type": "object",
        "description": "Further options; unknown ones are refused by the server with an explanation.",
        "properties": {
            "dry_run": {"type": "boolean", "description": "Only say what would be done, and do nothing."},
            "timeout": {
                "type": "integer",
                "description": "Milliseconds after which the operation is given up.",
            },
            "format": {
                "type": "string",
                "enum": ["json", "text", "markdown"],
                "description": "How to answer.",
            },
            "fields": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The fields of the result to return; all of them where it is left out.",
            },
            "idempotency_key": {
                "type": "string",
                "description": "Two calls with the same key do the same thing once; kept for 24 hours.",
            },
        },
    },
}
NOTE = (
    "Returns a JSON object with the fields of the result. Requires that the connected account has the permission to do "
    "this; otherwise an error with a code and a message is returned, and nothing is changed. Large results are "
    "returned in pages. Rate limits of the service apply. Times are in UTC unless an offset is given, and texts are "
    "taken as UTF-8. Do not call this more than once for the same purpose without a look at the answer in between; "
    "if an answer says that it was cut, go on with the cursor that it names."
)

# server: (name, what it does, what it takes, how somebody else would say it)
SERVERS: dict[str, list[tuple[str, str, str, str]]] = {
    "github": [
        ("create_issue", "Create a new issue in a GitHub repository.", "owner repo title body labels", "file a bug ticket in a github repo"),
        ("get_issue", "Get details of a specific issue in a GitHub repository.", "owner repo number", "read one github issue by its number"),
        ("list_issues", "List issues in a GitHub repository with filtering options.", "owner repo state labels limit cursor", "show all open issues of a repository"),
        ("update_issue", "Update an existing issue in a GitHub repository.", "owner repo number title body state labels", "change the title or state of an issue"),
        ("add_issue_comment", "Add a comment to an existing issue.", "owner repo number body", "reply on a github issue"),
        ("search_issues", "Search for issues and pull requests across GitHub repositories.", "query limit cursor", "find issues on github by keyword"),
        ("create_pull_request", "Create a new pull request in a GitHub repository.", "owner repo title body", "open a PR for my branch"),
        ("get_pull_request", "Get details of a specific pull request.", "owner repo number", "look at a pull request"),
        ("list_pull_requests", "List and filter repository pull requests.", "owner repo state limit cursor", "which pull requests are open"),
        ("merge_pull_request", "Merge a pull request.", "owner repo number title", "merge the PR"),
        ("get_pull_request_files", "Get the list of files changed in a pull request.", "owner repo number", "files changed by a pull request"),
        ("create_pull_request_review", "Create a review on a pull request.", "owner repo number body state", "review a pull request and approve it"),
        ("create_branch", "Create a new branch in a GitHub repository.", "owner repo title", "make a new git branch on github"),
        ("list_commits", "Get the list of commits of a branch in a GitHub repository.", "owner repo limit cursor", "commit history of a branch"),
        ("get_file_contents", "Get the contents of a file or directory from a GitHub repository.", "owner repo path", "read a file from a github repository"),
        ("create_or_update_file", "Create or update a single file in a GitHub repository.", "owner repo path body title", "write one file to a github repo"),
        ("push_files", "Push multiple files to a GitHub repository in a single commit.", "owner repo options title", "commit several files at once to github"),
        ("fork_repository", "Fork a GitHub repository to your account or an organization.", "owner repo", "fork a repo"),
        ("create_repository", "Create a new GitHub repository in your account.", "title body options", "start a new repository"),
        ("search_repositories", "Search for GitHub repositories.", "query limit cursor", "find repos on github"),
        ("search_code", "Search for code across GitHub repositories.", "query limit cursor", "grep code in all github repositories"),
        ("search_users", "Search for users on GitHub.", "query limit cursor", "find a github user"),
        ("list_workflow_runs", "List the runs of a GitHub Actions workflow.", "owner repo state limit", "did the CI workflow runs pass"),
        ("rerun_workflow", "Run a failed GitHub Actions workflow again.", "owner repo id", "rerun the failed workflow"),
        ("get_job_logs", "Get the logs of a job in a GitHub Actions workflow run.", "owner repo id", "logs of the failed CI job"),
    ],
    "filesystem": [
        ("read_text_file", "Read the complete contents of a file from the file system as text.", "path limit", "read a text file from disk"),
        ("read_media_file", "Read an image or audio file as base64.", "path", "load an image file"),
        ("read_multiple_files", "Read the contents of multiple files simultaneously.", "path options", "read several files at once"),
        ("write_file", "Create a new file or completely overwrite an existing file.", "path body", "save text to a file on disk"),
        ("edit_file", "Make line-based edits to a text file.", "path body options", "replace some lines in a file"),
        ("create_directory", "Create a new directory or ensure a directory exists.", "path", "make a folder"),
        ("list_directory", "Get a detailed listing of all files and directories in a path.", "path", "what files are in this folder"),
        ("directory_tree", "Get a recursive tree view of files and directories.", "path options", "recursive tree of a directory"),
        ("move_file", "Move or rename files and directories.", "path title", "rename a file"),
        ("search_files", "Recursively search for files and directories matching a pattern.", "path query", "find files by name pattern"),
        ("get_file_info", "Retrieve detailed metadata about a file or directory.", "path", "size and modification time of a file"),
        ("list_allowed_directories", "Return the list of directories that this server may access.", "", "which directories am I allowed to access"),
    ],
    "slack": [
        ("post_message", "Post a new message to a Slack channel.", "channel body", "send a message to a slack channel"),
        ("reply_to_thread", "Reply to a specific message thread in Slack.", "channel id body", "answer in a slack thread"),
        ("add_reaction", "Add a reaction emoji to a message.", "channel id title", "react with an emoji"),
        ("get_channel_history", "Get recent messages from a channel.", "channel limit cursor", "recent messages of a slack channel"),
        ("get_thread_replies", "Get all replies in a message thread.", "channel id", "read the replies of a thread"),
        ("list_channels", "List public channels in the workspace with pagination.", "limit cursor", "list slack channels"),
        ("get_users", "Get all users in the workspace with their basic profile information.", "limit cursor", "all slack workspace members"),
        ("get_user_profile", "Get detailed profile information for a specific user.", "user", "profile of a slack user"),
        ("search_messages", "Search messages in the workspace.", "query limit", "search slack for a message"),
        ("upload_file", "Upload a file to a channel.", "channel path title", "attach a file in slack"),
        ("create_channel", "Create a new public or private channel.", "title options", "make a new slack channel"),
        ("invite_to_channel", "Invite a user to a channel.", "channel user", "invite somebody into a channel"),
        ("set_channel_topic", "Set the topic of a channel.", "channel body", "change the topic of a channel"),
        ("schedule_message", "Schedule a message to be sent to a channel later.", "channel body time", "send a slack message tomorrow at nine"),
    ],
    "playwright": [
        ("browser_navigate", "Navigate to a URL.", "path", "open a web page in the browser"),
        ("browser_navigate_back", "Go back to the previous page.", "", "browser back"),
        ("browser_click", "Perform a click on a web page.", "ref title options", "click a button on the page"),
        ("browser_type", "Type text into an editable element.", "ref body options", "type into an input field"),
        ("browser_fill_form", "Fill multiple form fields.", "options", "fill in a form"),
        ("browser_select_option", "Select an option in a dropdown.", "ref title", "choose from a dropdown"),
        ("browser_hover", "Hover over an element on the page.", "ref", "hover the mouse over an element"),
        ("browser_drag", "Perform drag and drop between two elements.", "ref id", "drag and drop"),
        ("browser_press_key", "Press a key on the keyboard.", "title", "press the enter key"),
        ("browser_snapshot", "Capture an accessibility snapshot of the current page.", "", "accessibility snapshot of the page"),
        ("browser_take_screenshot", "Take a screenshot of the current page.", "path options", "take a screenshot"),
        ("browser_console_messages", "Return all console messages.", "", "javascript console output"),
        ("browser_network_requests", "Return all network requests since loading the page.", "", "network requests that the page made"),
        ("browser_evaluate", "Evaluate a JavaScript expression on the page or element.", "body ref", "run javascript in the page"),
        ("browser_file_upload", "Upload one or multiple files.", "path ref", "upload a file in the browser"),
        ("browser_handle_dialog", "Handle a dialog.", "options", "accept the alert dialog"),
        ("browser_wait_for", "Wait for text to appear or disappear or a specified time to pass.", "body time", "wait until a text appears"),
        ("browser_resize", "Resize the browser window.", "options", "resize the browser window"),
        ("browser_tabs", "List, create, close, or select a browser tab.", "id options", "switch to another browser tab"),
        ("browser_close", "Close the page.", "", "close the browser page"),
    ],
    "postgres": [
        ("query", "Run a read-only SQL query against the database.", "query limit", "select rows from the database with sql"),
        ("list_tables", "List all tables in the database.", "limit", "which tables are in the database"),
        ("describe_table", "Describe the columns and indexes of a table.", "title", "columns of a table"),
        ("explain_query", "Explain the execution plan of a SQL query.", "query", "why is this sql slow, show the query plan"),
        ("list_schemas", "List all schemas in the database.", "", "schemas of the database"),
    ],
    "calendar": [
        ("list_events", "List the events of a calendar between two times.", "time limit cursor", "what meetings do I have today"),
        ("create_event", "Create a calendar event and invite attendees.", "title body time user", "schedule a meeting with somebody"),
        ("update_event", "Update a calendar event.", "id title body time", "move the appointment to another time"),
        ("delete_event", "Delete a calendar event.", "id", "cancel an event in my calendar"),
        ("find_free_time", "Find free time slots of several attendees.", "user time", "when is everybody free"),
        ("respond_to_invitation", "Accept or decline the invitation to an event.", "id state", "decline a meeting invitation"),
    ],
    "mail": [
        ("search_threads", "Search email threads in the mailbox.", "query limit cursor", "find an email"),
        ("read_thread", "Read all messages of an email thread.", "id", "read an email thread"),
        ("create_draft", "Create a draft email.", "user title body", "draft an email without sending it"),
        ("send_email", "Send an email to one or more recipients.", "user title body", "mail somebody"),
        ("list_mailbox_labels", "List all labels of the mailbox.", "", "labels of my mailbox"),
        ("archive_thread", "Archive an email thread.", "id", "archive this mail"),
    ],
    "kintai": [
        ("shinsei_create", "勤怠の申請を新しく作成します。", "title body time", "休暇の申請を作りたい"),
        ("shinsei_list", "提出した勤怠申請の一覧を取得します。", "state limit", "出した申請の一覧を見る"),
        ("dakoku", "出勤または退勤の打刻を記録します。", "time", "退勤を打刻する"),
        ("zangyo_report", "月ごとの残業時間を集計します。", "time user", "先月の残業時間は何時間か"),
        ("shift_search", "担当者のシフト表を検索します。", "user time", "来週のシフトを調べる"),
        ("keihi_seisan", "領収書を添付して経費を精算します。", "title body path", "交通費の経費精算"),
    ],
}  # fmt: skip
HELD_OUT: dict[str, list[tuple[str, str, str, str]]] = {
    "notion": [
        ("create_page", "Create a page in a Notion workspace.", "title body", "write a new notion page"),
        ("retrieve_page", "Retrieve a page by its id.", "id", "get a notion page"),
        ("append_blocks", "Append blocks to the end of a page.", "id body", "append text to a page"),
        ("query_data_source", "Query the entries of a data source with filters and sorts.", "id query limit", "filter the entries of a notion data source"),
        ("archive_page", "Move a page to the trash.", "id", "trash a notion page"),
        ("list_comments", "List the comments of a page or block.", "id cursor", "comments on a notion page"),
    ],
    "linear": [
        ("save_issue", "Create or update a Linear issue.", "title body labels state", "create a linear ticket"),
        ("list_cycles", "List the cycles of a team.", "id", "cycles of our team"),
        ("list_teams", "List the teams in the workspace.", "query", "which teams are there in linear"),
        ("get_project", "Get the details of a specific project.", "id", "details of a linear project"),
        ("list_issue_statuses", "List the statuses that an issue can have in a team.", "id", "possible statuses of an issue"),
        ("delete_attachment", "Delete an attachment of an issue.", "id", "remove an attachment"),
    ],
    "sentry": [
        ("find_organizations", "Find the organizations that the user can access.", "", "my sentry organizations"),
        ("search_events", "Search for events such as errors, logs and spans.", "query limit", "errors in the last hour"),
        ("get_trace_details", "Get the overview of a trace.", "id", "look up a trace by id"),
        ("analyze_issue_with_seer", "Explain the root cause of an issue with Seer.", "id", "root cause of a sentry issue"),
        ("create_dsn", "Create a DSN for a project.", "title", "new dsn for the project"),
        ("update_project", "Update the settings of a project.", "id title", "change project settings in sentry"),
    ],
    "kubernetes": [
        ("pods_list", "List the pods of a namespace.", "title", "list pods"),
        ("pods_log", "Get the logs of a pod.", "title limit", "show the logs of a pod"),
        ("pods_exec", "Execute a command in a pod.", "title body", "run a command inside a pod"),
        ("pods_delete", "Delete a pod.", "title", "kill a pod"),
        ("resources_scale", "Scale a deployment to a number of replicas.", "title number", "scale up the deployment to five replicas"),
        ("resources_create_or_update", "Create or update a resource from YAML or JSON.", "body", "apply this yaml to the cluster"),
        ("events_list", "List the events of a namespace.", "title", "kubernetes events"),
        ("namespaces_list", "List the namespaces of the cluster.", "", "what namespaces exist"),
        ("helm_install", "Install a Helm chart.", "title options", "install a helm chart"),
        ("nodes_top", "Get the use of processor and memory by the nodes.", "", "memory usage of the nodes"),
    ],
    "drive": [
        ("search_documents", "Search for files in Google Drive.", "query limit", "find a document in google drive"),
        ("download_document", "Download the content of a file in Google Drive.", "id", "get a file from drive"),
        ("share_document", "Share a file with a person.", "id user", "give somebody access to a document"),
        ("copy_document", "Copy a file in Google Drive.", "id title", "duplicate a drive document"),
        ("recent_documents", "List the files that were used last.", "limit", "recently used files in drive"),
        ("document_permissions", "List who has access to a file.", "id", "who can see this document"),
    ],
    "zaiko": [
        ("zaiko_kensaku", "倉庫にある商品の在庫数を検索します。", "query", "商品の在庫がいくつあるか調べる"),
        ("hacchu_sakusei", "仕入先への発注書を作成します。", "title body", "仕入先に発注したい"),
        ("nyuka_toroku", "入荷した商品を登録します。", "id number", "入荷の登録"),
        ("uriage_shukei", "店舗ごとの売上を集計します。", "time", "店舗の売上の合計"),
        ("tanaoroshi_kaishi", "棚卸の作業を開始します。", "title", "棚卸を始める"),
    ],
}  # fmt: skip
"""Written after the search was made; one mistake of the stemmer that it showed was mended since."""
WORDS = (
    "invoice",
    "customer",
    "order",
    "product",
    "shipment",
    "contract",
    "employee",
    "vehicle",
    "sensor",
    "recipe",
)
DEEDS = {
    "create": ("Create a new {noun} record.", "register a new {noun}"),
    "get": ("Retrieve one {noun} by its id.", "fetch a single {noun}"),
    "list": ("List {noun} records, newest first.", "enumerate every {noun}"),
    "update": ("Update the fields of one {noun}.", "modify a {noun}"),
    "delete": ("Delete one {noun} for good.", "remove a {noun}"),
    "export": ("Export {noun} records to a file.", "download {noun} data as a file"),
    "approve": ("Approve one {noun} that is pending.", "approve a pending {noun}"),
}
SYSTEMS = ("erp", "crm", "legacy", "mobile", "partner")


@dataclass(frozen=True)
class Known:
    """A tool, and how somebody may ask for it."""

    name: str
    about: str
    takes: tuple[str, ...]
    asked: str

    @property
    def schema(self) -> dict[str, Any]:
        properties = {name: SCHEMAS[name] for name in dict.fromkeys((*self.takes, "options"))}
        return {"type": "object", "properties": properties, "required": list(self.takes[:2])}

    def arguments(self) -> dict[str, Any]:
        made = {"string": "x", "integer": 1, "array": [], "object": {}}
        return {name: made[SCHEMAS[name]["type"]] for name in self.takes[:2]}


def served(servers: dict[str, list[tuple[str, str, str, str]]]) -> list[Known]:
    """The tools of some servers."""
    return [
        Known(f"mcp__{server}__{name}", about, tuple(takes.split()), asked)
        for server, listed in servers.items()
        for name, about, takes, asked in listed
    ]


def tools(count: int) -> list[Known]:
    """So many tools: of everyday servers first, then of business systems that have many alike."""
    found = served(SERVERS)
    found += [
        Known(f"{system}_{deed}_{noun}", about.format(noun=f"{system} {noun}"), ("id", "title", "options"), f"{asked.format(noun=noun)} in the {system} system")
        for system in SYSTEMS
        for noun in WORDS
        for deed, (about, asked) in DEEDS.items()
    ]  # fmt: skip
    step = max(1, len(found) // count) if count < 94 else 1
    return found[::step][:count]


def define(known: Known, dialect: str) -> dict[str, Any]:
    """The tool as a dialect defines it."""
    about = f"{known.about} {NOTE}"
    if dialect == "anthropic":
        return {"name": known.name, "description": about, "input_schema": known.schema}
    body = {"name": known.name, "description": about, "parameters": known.schema}
    if dialect == "openai.responses":
        return {"type": "function", **body}
    return (
        {"type": "function", "function": body}
        if dialect == "openai.chat"
        else {"functionDeclarations": [body]}
    )
