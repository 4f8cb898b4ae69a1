# Everything that must not be lost: the log, messages, channels, devices.

locals {
  # The composite indexes, exemptions and time-to-live fields that the code
  # needs; its tests hold this file against its queries.
  firestore = jsondecode(file("${path.module}/firestore.indexes.json"))

  indexes = {
    for x in local.firestore.indexes : join(",", concat([x.collectionGroup], [
      for f in x.fields : "${f.fieldPath} ${lower(try(f.order, f.arrayConfig))}"
    ])) => x
  }
  fields = { for x in local.firestore.fieldOverrides : "${x.collectionGroup}.${x.fieldPath}" => x }
}

resource "google_firestore_database" "iris" {
  name                              = var.database
  location_id                       = var.database_location != "" ? var.database_location : var.region
  type                              = "FIRESTORE_NATIVE"
  delete_protection_state           = var.keep_data ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"
  deletion_policy                   = var.keep_data ? "ABANDON" : "DELETE"
  point_in_time_recovery_enablement = var.point_in_time_recovery ? "POINT_IN_TIME_RECOVERY_ENABLED" : "POINT_IN_TIME_RECOVERY_DISABLED"

  depends_on = [google_project_service.apis]
}

resource "google_firestore_index" "indexes" {
  for_each = local.indexes

  database    = google_firestore_database.iris.name
  collection  = each.value.collectionGroup
  query_scope = each.value.queryScope

  dynamic "fields" {
    for_each = each.value.fields
    content {
      field_path   = fields.value.fieldPath
      order        = try(fields.value.order, null)
      array_config = try(fields.value.arrayConfig, null)
    }
  }
}

# What is never searched for has no index: each would cost storage and time.
resource "google_firestore_field" "fields" {
  for_each = local.fields

  database   = google_firestore_database.iris.name
  collection = each.value.collectionGroup
  field      = each.value.fieldPath

  index_config {
    dynamic "indexes" {
      for_each = each.value.indexes
      content {
        query_scope  = try(indexes.value.queryScope, "COLLECTION")
        order        = try(indexes.value.order, null)
        array_config = try(indexes.value.arrayConfig, null)
      }
    }
  }

  dynamic "ttl_config" {
    for_each = try(each.value.ttl, false) ? [true] : []
    content {}
  }
}

# Phones never talk to Firestore. Rules deny every client; the gateway's service
# account is not subject to them.
resource "google_firebaserules_ruleset" "deny" {
  source {
    files {
      name    = "firestore.rules"
      content = file("${path.module}/firestore.rules")
    }
  }

  depends_on = [google_project_service.apis]
}

resource "google_firebaserules_release" "deny" {
  name         = var.database == "(default)" ? "cloud.firestore" : "cloud.firestore/${var.database}"
  ruleset_name = google_firebaserules_ruleset.deny.name

  # A ruleset that is in use cannot be deleted.
  lifecycle {
    replace_triggered_by = [google_firebaserules_ruleset.deny]
  }

  depends_on = [google_firestore_database.iris]
}
