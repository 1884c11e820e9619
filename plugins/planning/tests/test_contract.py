from __future__ import annotations

from pegboard.testing import PluginContract, ToolContract

STEP = {"step": "Look", "status": "in_progress"}


class TestPlugin(PluginContract):
    plugin = "planning"


class TestUpdatePlan(ToolContract):
    tool = "planning:update_plan"
    needs = ("sandbox-local",)
    works = ({"plan": [STEP]}, {"plan": [], "explanation": "Done."})
    fails = (
        ({"plan": [STEP, STEP]}, "bad_plan"),
        ({"plan": [STEP, {**STEP, "step": "Act"}]}, "bad_plan"),
        ({"plan": [{**STEP, "step": " "}]}, "bad_plan"),
        ({"plan": [{**STEP, "status": "begun"}]}, "invalid_arguments"),
        ({"plan": [{**STEP, "step": "x" * 501}]}, "invalid_arguments"),
    )


class TestTaskCreate(ToolContract):
    tool = "planning:TaskCreate"
    needs = ("sandbox-local",)
    works = (
        {"subject": "Look"},
        {"subject": "Act", "description": "Well.", "activeForm": "Acting", "metadata": {"a": [1]}},
    )
    fails = (
        ({"subject": ""}, "invalid_arguments"),
        ({"subject": " \n"}, "bad_task"),
        ({"subject": "Look", "description": "x" * 8_001}, "invalid_arguments"),
        ({"subject": "Look", "metadata": {"a": "x" * 4_000}}, "bad_task"),
    )


class TestTaskUpdate(ToolContract):
    tool = "planning:TaskUpdate"
    needs = ("sandbox-local",)
    works = ({"taskId": "1"},)
    fails = (({"taskId": "1"}, "not_found"), ({"taskId": ""}, "invalid_arguments"))
    test_it_works = None  # there is no task yet: see test_tasks.py


class TestTaskGet(ToolContract):
    tool = "planning:TaskGet"
    needs = ("sandbox-local",)
    works = ({"taskId": "1"},)
    fails = (({"taskId": "1"}, "not_found"),)
    test_it_works = None


class TestTaskList(ToolContract):
    tool = "planning:TaskList"
    needs = ("sandbox-local",)
    works = ({},)
