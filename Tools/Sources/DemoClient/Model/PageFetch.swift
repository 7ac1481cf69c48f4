import Coherence

/// A page fetched from the service in this run. Kept in memory.
package final class PageFetch: ManagedObject, KeyPathNaming {
  private static let pageKey = AttributeKey<Int>("page")
  private static let etagKey = AttributeKey<String>("etag")
  private static let packagesKey = AttributeKey<Int>("packages")
  private static let bytesKey = AttributeKey<Int>("bytes")
  private static let secondsKey = AttributeKey<Double>("seconds")

  /// From 1; the key.
  package var page: Int {
    get { self[Self.pageKey] }
    set { self[Self.pageKey] = newValue }
  }
  /// The service's tag for this content of the page.
  package var etag: String {
    get { self[Self.etagKey] }
    set { self[Self.etagKey] = newValue }
  }
  /// The number of packages on the page.
  package var packages: Int {
    get { self[Self.packagesKey] }
    set { self[Self.packagesKey] = newValue }
  }
  package var bytes: Int {
    get { self[Self.bytesKey] }
    set { self[Self.bytesKey] = newValue }
  }
  /// From the request to the reply.
  package var seconds: Double {
    get { self[Self.secondsKey] }
    set { self[Self.secondsKey] = newValue }
  }

  package static var propertyNames: [AnyKeyPath: String] {
    [
      \PageFetch.page: "page", \PageFetch.etag: "etag", \PageFetch.packages: "packages", \PageFetch.bytes: "bytes",
      \PageFetch.seconds: "seconds",
    ]
  }
}
