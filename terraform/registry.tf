# Where the gateway's images are. Old ones go by themselves.
resource "google_artifact_registry_repository" "images" {
  repository_id = var.name
  location      = var.region
  format        = "DOCKER"
  description   = "Images of the Iris gateway"

  cleanup_policy_dry_run = false

  cleanup_policies {
    id     = "keep-the-newest"
    action = "KEEP"
    most_recent_versions {
      keep_count = var.keep_images
    }
  }

  cleanup_policies {
    id     = "delete-old-ones"
    action = "DELETE"
    condition {
      older_than = "${30 * 24 * 3600}s"
    }
  }

  depends_on = [google_project_service.apis]
}
