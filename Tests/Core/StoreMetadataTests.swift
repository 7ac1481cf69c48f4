import CoherenceCore
import Foundation
import Testing

/// The models that have opened a store, in the metadata of the store.
@Suite struct StoreMetadataTests {
  private func record(_ number: Int, name: String? = nil, versions: [String] = []) -> ModelRecord {
    let date = Date(timeIntervalSince1970: Double(number) * 86_400)
    return ModelRecord(
      name: name, versionIdentifiers: versions, versionHashes: ["A": "\(number)"], firstOpened: date, lastOpened: date)
  }

  private func metadata(_ numbers: Int...) -> StoreMetadata {
    var metadata = StoreMetadata(
      identifier: StoreIdentifier("store"), type: "Some", versionHashes: ["A": "\(numbers[0])"])
    metadata.models = [record(numbers[0])]
    for number in numbers.dropFirst() { metadata.recordOpening(by: record(number)) }
    return metadata
  }

  @Test func `the newest model is the model that opened the store first after all others`() {
    let metadata = metadata(1, 2, 1)
    #expect(metadata.models.map(\.versionHashes) == [["A": "1"], ["A": "2"]])
    #expect(metadata.age(ofModelWith: ["A": "2"]) == .newest)
    #expect(metadata.age(ofModelWith: ["A": "1"]) == .older)
    #expect(metadata.age(ofModelWith: ["A": "3"]) == .unseen)
  }

  @Test func `the last model is the model of the last recorded opening, the newest or an older one`() {
    #expect(metadata(1, 2).lastModel?.versionHashes == ["A": "2"])
    #expect(metadata(1, 2, 1).lastModel?.versionHashes == ["A": "1"])
    #expect(metadata(1, 2, 1).versionHashes == ["A": "1"])
  }

  @Test func `an opening by the last model keeps its record, and a return of another model renews its date`() {
    var metadata = metadata(1, 2)
    var again = record(2, name: "Later", versions: ["9"])
    again.lastOpened = Date(timeIntervalSince1970: 900 * 86_400)
    metadata.recordOpening(by: again)
    #expect(metadata.models[1] == record(2))
    var earlier = record(1, versions: ["7"])
    earlier.firstOpened = Date(timeIntervalSince1970: 800 * 86_400)
    earlier.lastOpened = Date(timeIntervalSince1970: 900 * 86_400)
    metadata.models[0].name = "First"
    metadata.recordOpening(by: earlier)
    #expect(metadata.models.count == 2)
    #expect(metadata.models[0].name == "First" && metadata.models[0].versionIdentifiers == ["7"])
    #expect(metadata.models[0].firstOpened == record(1).firstOpened)
    #expect(metadata.models[0].lastOpened == earlier.lastOpened)
  }

  @Test func `a store without records of models gets one for the model that it has had so far`() {
    var metadata = StoreMetadata(identifier: StoreIdentifier("store"), type: "Some", versionHashes: ["A": "1"])
    #expect(metadata.age(ofModelWith: ["A": "1"]) == .newest)
    #expect(metadata.age(ofModelWith: ["A": "2"]) == .unseen)
    metadata.recordOpening(by: record(2, name: "New"))
    #expect(metadata.models.map(\.versionHashes) == [["A": "1"], ["A": "2"]])
    #expect(metadata.models.map(\.name) == [nil, "New"])
    #expect(metadata.models[0].firstOpened == nil && metadata.models[0].lastOpened == nil)
    #expect(metadata.age(ofModelWith: ["A": "1"]) == .older)
  }

  @Test func `a store remembers its last hundred models`() {
    var metadata = metadata(0)
    for number in 1...99 { metadata.recordOpening(by: record(number)) }
    #expect(metadata.models.count == 100 && metadata.models.first == record(0))
    metadata.recordOpening(by: record(100))
    #expect(metadata.models.count == 100)
    #expect(metadata.models.first == record(1) && metadata.models.last == record(100))
  }

  @Test func `a record of a model is described by the parts that it has`() {
    #expect(
      record(0, name: "Music", versions: ["2", "3"]).description
        == "the model 'Music' 2, 3, first opened on 1970-01-01")
    var bare = record(0)
    bare.firstOpened = nil
    #expect(bare.description == "a model without a name")
  }

  @Test func `metadata is encoded and decoded, and metadata without models has none`() throws {
    let original = metadata(1, 2)
    let decoded = try JSONDecoder().decode(StoreMetadata.self, from: JSONEncoder().encode(original))
    #expect(decoded == original)
    let text = #"{"identifier": "store", "type": "Some", "versionHashes": {"A": "1"}, "userInfo": {"k": "v"}}"#
    let earlier = try JSONDecoder().decode(StoreMetadata.self, from: Data(text.utf8))
    #expect(earlier.models == [] && earlier.userInfo == ["k": "v"] && earlier.identifier == StoreIdentifier("store"))
  }
}
