import Coherence
import CoherenceModelMacros

/// A page fetched from the service in this run. Kept in memory.
@Entity package final class PageFetch: ManagedObject {
  /// From 1; the key.
  @Attribute(.unique) package var page: Int
  /// The service's tag for this content of the page.
  package var etag = ""
  /// The number of packages on the page.
  package var packages = 0
  package var bytes = 0
  /// From the request to the reply.
  package var seconds = 0.0
}
