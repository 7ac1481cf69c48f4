import Coherence

/// A page fetched from the service in this run. Kept in memory.
package final class PageFetch: ManagedObject, DeclaredEntity {
  /// From 1; the key.
  package var page: Int {
    get { self[Properties.table.page] }
    set { self[Properties.table.page] = newValue }
  }
  /// The service's tag for this content of the page.
  package var etag: String {
    get { self[Properties.table.etag] }
    set { self[Properties.table.etag] = newValue }
  }
  /// The number of packages on the page.
  package var packages: Int {
    get { self[Properties.table.packages] }
    set { self[Properties.table.packages] = newValue }
  }
  package var bytes: Int {
    get { self[Properties.table.bytes] }
    set { self[Properties.table.bytes] = newValue }
  }
  /// From the request to the reply.
  package var seconds: Double {
    get { self[Properties.table.seconds] }
    set { self[Properties.table.seconds] = newValue }
  }

  package struct Properties: EntityProperties {
    package static let table = Properties()
    package let page = AttributeKey<Int>("page")
    package let etag = AttributeKey<String>("etag")
    package let packages = AttributeKey<Int>("packages")
    package let bytes = AttributeKey<Int>("bytes")
    package let seconds = AttributeKey<Double>("seconds")
  }

  package static var entityName: String { "PageFetch" }
  package static var entityDeclaration: Entity {
    Entity(entityName, class: PageFetch.self, uniqueness: [["page"]]) {
      Attribute("page", .int64)
      Attribute("etag", .string, default: "")
      Attribute("packages", .int64, default: 0)
      Attribute("bytes", .int64, default: 0)
      Attribute("seconds", .double, default: 0.0)
    }
  }
  package static var propertyNames: [AnyKeyPath: String] {
    [
      \PageFetch.page: "page", \PageFetch.etag: "etag", \PageFetch.packages: "packages", \PageFetch.bytes: "bytes",
      \PageFetch.seconds: "seconds",
    ]
  }
}
