# An address of your own. It needs a domain that you have verified with Google,
# and a region that knows domain mappings; else put a load balancer in front.
resource "google_cloud_run_domain_mapping" "domain" {
  count = var.domain != "" ? 1 : 0

  name     = var.domain
  location = var.region

  metadata {
    namespace = var.project
  }

  spec {
    route_name = google_cloud_run_v2_service.gateway.name
  }
}
