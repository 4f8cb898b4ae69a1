# What is kept, and who reads it: database, rules, bucket.

mock_provider "google" {}
mock_provider "google-beta" {}
mock_provider "random" {}

variables {
  project = "my-project"
}

# Read anew from the file that the code's own tests hold against its queries,
# in another shape than the module does it.
run "indexes" {
  command = plan

  assert {
    condition = toset([
      for x in google_firestore_index.indexes : jsonencode([x.collection, x.query_scope, [for f in x.fields : [f.field_path, try(coalesce(f.order, f.array_config), "")]]])
      ]) == toset([
      for x in jsondecode(file("firestore.indexes.json")).indexes : jsonencode([x.collectionGroup, x.queryScope, [for f in x.fields : [f.fieldPath, try(f.order, f.arrayConfig)]]])
    ])
    error_message = "the composite indexes are not those of firestore.indexes.json"
  }
  assert {
    condition     = length(google_firestore_index.indexes) == length(jsondecode(file("firestore.indexes.json")).indexes)
    error_message = "two indexes share a key"
  }
  assert {
    condition = toset([
      for f in google_firestore_field.fields : "${f.collection}.${f.field} ${length(f.index_config[0].indexes)} ${length(f.ttl_config)}"
      ]) == toset([
      for f in jsondecode(file("firestore.indexes.json")).fieldOverrides : "${f.collectionGroup}.${f.fieldPath} ${length(f.indexes)} ${try(f.ttl, false) ? 1 : 0}"
    ])
    error_message = "the exemptions are not those of firestore.indexes.json"
  }
  assert {
    condition     = alltrue([for x in concat(values(google_firestore_index.indexes), values(google_firestore_field.fields)) : x.database == "(default)"])
    error_message = "an index belongs to another database"
  }
}

run "rules" {
  command = plan

  assert {
    condition     = strcontains(google_firebaserules_ruleset.deny.source[0].files[0].content, "allow read, write: if false;")
    error_message = "clients are not denied"
  }
  assert {
    condition     = google_firebaserules_release.deny.name == "cloud.firestore"
    error_message = "the rules are those of another database"
  }
}

run "kept" {
  command = plan

  assert {
    condition     = google_firestore_database.iris.delete_protection_state == "DELETE_PROTECTION_ENABLED" && google_firestore_database.iris.deletion_policy == "ABANDON"
    error_message = "destroy would delete the database"
  }
  assert {
    condition     = !google_storage_bucket.media.force_destroy && google_storage_bucket.media.deletion_policy == "ABANDON"
    error_message = "destroy would delete the bucket"
  }
  assert {
    condition     = google_storage_bucket.media.uniform_bucket_level_access && google_storage_bucket.media.public_access_prevention == "enforced"
    error_message = "the bucket could be made public"
  }
  assert {
    condition = [
      for r in google_storage_bucket.media.lifecycle_rule : [one(r.action).type, one(r.condition).age, one(r.condition).matches_prefix]
      if one(r.condition).days_since_custom_time == null
    ] == [["Delete", 1, tolist(["uploads/"])]]
    error_message = "other objects than broken uploads are deleted by age"
  }
  assert {
    condition = [
      for r in google_storage_bucket.media.lifecycle_rule : [one(r.action).type, one(r.condition).days_since_custom_time, one(r.condition).matches_prefix]
      if one(r.condition).age == null
    ] == [["Delete", 1, tolist(["media/"])]]
    error_message = "bytes go before the rows that name them, or never"
  }
  assert {
    condition     = google_firestore_database.iris.location_id == "us-central1" && google_firestore_database.iris.point_in_time_recovery_enablement == "POINT_IN_TIME_RECOVERY_DISABLED"
    error_message = "the database is not what was asked for"
  }
}

run "given_up" {
  command = plan

  variables {
    keep_data              = false
    database               = "iris-2"
    database_location      = "eur3"
    point_in_time_recovery = true
  }

  assert {
    condition     = google_firestore_database.iris.delete_protection_state == "DELETE_PROTECTION_DISABLED" && google_firestore_database.iris.deletion_policy == "DELETE"
    error_message = "the database would stay"
  }
  assert {
    condition     = google_storage_bucket.media.force_destroy && google_storage_bucket.media.deletion_policy == "DELETE"
    error_message = "the bucket would stay"
  }
  assert {
    condition     = google_firestore_database.iris.location_id == "eur3" && google_firestore_database.iris.point_in_time_recovery_enablement == "POINT_IN_TIME_RECOVERY_ENABLED"
    error_message = "the database is not what was asked for"
  }
  assert {
    condition     = google_firebaserules_release.deny.name == "cloud.firestore/iris-2"
    error_message = "the rules are those of another database"
  }
}
