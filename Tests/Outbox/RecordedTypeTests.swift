import CoherenceCore
import Foundation
import Testing

@testable import CoherenceOutbox

/// Recorded values in the present types of their attributes.
@Suite("Recorded values of other types")
struct RecordedTypeTests {
  /// The value in the type of an attribute.
  private func converted(
    _ value: AttributeValue, to type: AttributeType, by conversion: ValueConversion? = nil
  ) throws -> AttributeValue {
    let model = try ManagedObjectModel {
      Entity("Thing") { Attribute("value", type, optional: true, converting: conversion) }
    }
    let attribute = try #require(try model.entity(named: "Thing").attribute(named: "value"))
    return attribute.converted(value)
  }

  private static let integers: [AttributeType] = [.int16, .int32, .int64]

  @Test(arguments: integers)
  func `truth values and whole doubles become integers`(type: AttributeType) throws {
    #expect(try converted(.bool(true), to: type) == .int(1))
    #expect(try converted(.bool(false), to: type) == .int(0))
    #expect(try converted(.double(-3), to: type) == .int(-3))
    for value in [AttributeValue.double(0.5), .double(1e300), .string("1")] {
      #expect(try converted(value, to: type) == value)
    }
  }

  @Test func `zero and one become truth values, and integers become doubles and decimals`() throws {
    #expect(try converted(.int(0), to: .bool) == .bool(false))
    #expect(try converted(.int(1), to: .bool) == .bool(true))
    #expect(try converted(.int(2), to: .bool) == .int(2))
    #expect(try converted(.int(3), to: .double) == .double(3))
    #expect(try converted(.int(3), to: .float) == .double(3))
    #expect(try converted(.int(3), to: .decimal) == .decimal(3))
    #expect(try converted(.double(40_000), to: .int16) == .double(40_000))
  }

  /// The types with a value of each, and another value for the results of conversions.
  private static let values: [(type: AttributeType, own: AttributeValue, other: AttributeValue)] = [
    (.int16, .int(3), .int(7)), (.int32, .int(3), .int(7)), (.int64, .int(3), .int(7)),
    (.bool, .bool(true), .bool(false)), (.float, .double(0.5), .double(7)), (.double, .double(0.5), .double(7)),
    (.decimal, .decimal(3), .decimal(7)), (.string, .string("a"), .string("b")),
    (.data, .data(Data([1])), .data(Data([2]))),
    (.date, .date(Timestamp(microseconds: 1)), .date(Timestamp(microseconds: 2))),
    (.uuid, .uuid(UUID()), .uuid(UUID())),
  ]

  @Test func `the rule of an attribute converts the values of other types alone`() throws {
    for (type, own, other) in Self.values {
      #expect(try converted(own, to: type, by: { _ in other }) == own, "\(type)")
      #expect(try converted(.null, to: type, by: { _ in other }) == .null, "\(type)")
      let foreign: AttributeValue = type.storage == .string ? .int(1) : .string("1")
      #expect(try converted(foreign, to: type, by: { _ in other }) == other, "\(type)")
      #expect(try converted(foreign, to: type) == foreign, "\(type)")
    }
  }

  @Test func `a rule that fails, or returns a value of another type, leaves the recorded value`() throws {
    struct Refused: Error {}
    #expect(try converted(.string("a"), to: .int64, by: { _ in throw Refused() }) == .string("a"))
    #expect(try converted(.string("a"), to: .int64, by: { _ in .string("b") }) == .string("a"))
  }

  @Test func `an integer out of range of the present type is converted by the rule, and stays without one`() throws {
    #expect(try converted(.int(100_000), to: .int16, by: { _ in .int(7) }) == .int(7))
    #expect(try converted(.int(100_000), to: .int16) == .int(100_000))
  }
}
