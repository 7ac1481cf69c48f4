import CoherenceActions
import CoherenceCore
import Foundation
import Testing
import TestSupport
import TestRandom

/// A dictionary, JSON, a decoded value and an object with the same content must lead to the same record.
@Suite("Forms of merge input")
struct MergeInputFormTests {
  enum Form: CaseIterable {
    case dictionary, json, value, object

    func merge(_ item: FormItem, into stored: FormItem, _ stack: MergeStack) throws -> MergeResult {
      let entity = try stack.entity("Item")
      let context = stack.connect.newActionContext()
      switch self {
      case .dictionary: return try context.merge(records: [try item.record()], for: entity)
      case .json:
        let record = try JSONDecoder().decode(
          MergeRecord.self, from: Data(try item.json().utf8), configuration: entity)
        return try context.merge(records: [record], for: entity)
      case .value: return try context.merge(records: [item], for: entity)
      case .object: return try context.merge(objects: [try stored.merged(with: item).object(entity)], for: entity)
      }
    }
  }

  private struct Dump: Equatable {
    var attributes: [AttributeValue]
    var owner: String?
    var tags: Set<String>
  }

  private func dump(_ stack: MergeStack) throws -> Dump {
    try stack.read { context in
      let item = try #require(try stack.objects("Item", context).first)
      return Dump(
        attributes: try FormItem.attributeNames.map { try item.value(for: $0) },
        owner: try item.object(for: "owner")?.value(for: "name", as: String.self),
        tags: Set(try item.objects(for: "tags").map { try $0.value(for: "name", as: String.self) }))
    }
  }

  private func makeStacks() throws -> [(form: Form, stack: MergeStack)] {
    try Form.allCases.map { form in
      let stack = try MergeStack(.inMemory, try FormItem.model())
      try stack.merge(["jazz", "rock"].map { MergeRecord(["name": $0]) }, into: "Tag")
      try stack.merge([MergeRecord(["id": 1])], into: "Item")
      return (form, stack)
    }
  }

  @Test func `missing, null and value have the same effect in every form of input`()
    throws
  {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let stacks = try makeStacks()
    var stored = FormItem()
    for _ in 0..<60 {
      let item = FormItem.random(using: &random)
      let next = stored.merged(with: item)
      for (form, stack) in stacks {
        _ = try form.merge(item, into: stored, stack)
        #expect(
          try form.merge(item, into: next, stack).counts == MergeResult.with(unchanged: 1), "\(form), seed \(seed)")
      }
      let dumps = try stacks.map { try dump($0.stack) }
      for (index, form) in Form.allCases.enumerated() {
        #expect(dumps[index].attributes == dumps[0].attributes, "\(form), seed \(seed)")
        // A merge of objects ignores relationships.
        if form != .object { #expect(dumps[index] == dumps[0], "\(form), seed \(seed)") }
      }
      #expect(dumps[0].owner == FormItem.flat(next.owner), "seed \(seed)")
      #expect(dumps[0].tags == Set(FormItem.flat(next.tags) ?? []), "seed \(seed)")
      stored = next
    }
  }

  @Test(arguments: [Form.dictionary, .value])
  func `an unknown property name from the program is refused`(form: Form) throws {
    struct Misspelt: Decodable {
      var id: Int32 = 1
      var naem = "Ada"
    }
    let stack = try MergeStack(.inMemory, try FormItem.model())
    let entity = try stack.entity("Item")
    let context = stack.connect.newActionContext()
    let error = #expect(throws: CoherenceError.self) {
      if form == .value {
        try context.merge(records: [Misspelt()], for: entity)
      } else {
        try context.merge(records: [MergeRecord(["id": 1, "naem": "Ada"])], for: entity)
      }
    }
    #expect(error?.code == .unknownProperty)
  }

  @Test func `an unknown property name from a service is skipped`() throws {
    let stack = try MergeStack(.inMemory, try FormItem.model())
    let json = Data(#"{"id": 1, "name": "Ada", "added": {"by": ["the", "service"]}}"#.utf8)
    let record = try JSONDecoder().decode(MergeRecord.self, from: json, configuration: try stack.entity("Item"))
    #expect(record.values.keys.sorted() == ["id", "name"])
    #expect(try stack.merge([record], into: "Item").inserted == 1)
  }
}
