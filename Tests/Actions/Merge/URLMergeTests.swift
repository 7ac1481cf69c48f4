import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// Merges of records whose URLs come as texts.
@Suite("Merges of URLs", .timeLimit(.minutes(15)))
struct URLMergeTests {
  @Test(arguments: Backend.available)
  func `the text of a URL finds the record with the URL, and a second equal merge writes nothing`(
    backend: Backend
  ) throws {
    let model = try ManagedObjectModel {
      Entity("Page", userInfo: ["uniquenessAttributes": "address"]) {
        Attribute("address", .url, default: "about:blank")
        Attribute("icon", .url, optional: true)
      }
    }
    let directory = TemporaryDirectory()
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "Pages", managedObjectModel: model, storeLocation: directory.url)
    try connect.attachPersistentStore(for: backend.newConfiguration())
    try connect.start()
    let text = "https://example.org/\u{E4} b"
    let address = try #require(URL(string: text))
    let context = connect.newBackgroundContext()
    try context.performAndWait {
      try context.insertNewObject(forEntityName: "Page").setValue(address, for: "address")
      try context.save()
    }
    func merge() throws -> MergeResult {
      try connect.newActionContext().merge(
        records: [MergeRecord(["address": text, "icon": text])], for: model.entity(named: "Page"))
    }
    let first = try merge()
    #expect(first.inserted == 0 && first.updated == 1)
    let second = try merge()
    #expect(second.inserted == 0 && second.updated == 0 && second.unchanged == 1)
    let reader = connect.newBackgroundContext()
    let icons = try reader.performAndWait {
      try reader.fetch(FetchRequest<ManagedObject>(entityName: "Page")).map { try $0.value(for: "icon", as: URL.self) }
    }
    #expect(icons == [address])
    withExtendedLifetime(directory) {}
  }
}
