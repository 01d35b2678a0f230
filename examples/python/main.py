"""Reads projects over HTTP and retirements over a websocket, with gql.

    pip install -r examples/python/requirements.txt
    API_URL=http://localhost:4000/graphql COUNT=1 python3 examples/python/main.py
"""

import asyncio
import json
import os
from decimal import Decimal
from pathlib import Path

from gql import Client, gql
from gql.transport.aiohttp import AIOHTTPTransport
from gql.transport.aiohttp_websockets import AIOHTTPWebsocketsTransport

HERE = Path(__file__).parent
API_URL = os.environ.get("API_URL", "http://localhost:4000/graphql")
TOKEN = os.environ.get("TOKEN")
COUNT = int(os.environ.get("COUNT", "1"))


def document(name):
    return gql((HERE / name).read_text())


async def main():
    authorization = {"authorization": f"Bearer {TOKEN}"} if TOKEN else {}

    async with Client(transport=AIOHTTPTransport(url=API_URL, headers=authorization)) as session:
        query = document("project.graphql")
        query.variable_values = {"first": 20}
        answer = await session.execute(query)
        for edge in answer["projects"]["edges"]:
            # Amounts are decimal strings: as floats, large ones would lose digits.
            unsold = Decimal(edge["node"]["unsoldTonnes"])
            print(json.dumps({"project": edge["node"]["assetId"], "unsold": str(unsold)}), flush=True)

    socket = AIOHTTPWebsocketsTransport(url=API_URL.replace("http", "ws", 1), init_payload=authorization)
    async with Client(transport=socket) as session:
        seen = 0
        subscription = document("watch.graphql")
        subscription.variable_values = {"after": "0"}
        async for event in session.subscribe(subscription):
            record = event["retirementFeed"]["record"]
            print(json.dumps(record), flush=True)
            seen += 1
            if seen == COUNT:
                break


asyncio.run(main())
