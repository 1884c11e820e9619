"""The gate: one pure decision about who may use which tool."""
